"""What a policy is known by: what is said of it may change; what an answer comes from may not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tendon.policies.bundle.bundle import Bundle, load_bundle, write_bundle
from tendon.policies.inference.identity import policy_digest
from tests.ros2_nodes.tiny_bundle import write_tiny_bundle

OTHER = "0" * 64


@pytest.fixture
def bundle(tmp_path: Path) -> Bundle:
    return load_bundle(write_tiny_bundle(tmp_path / "tiny"))


def test_a_detector_a_receipt_a_pinned_robot_and_a_record_leave_it(bundle: Bundle) -> None:
    known = policy_digest(bundle.manifest)
    said = dict.fromkeys(("detector.yaml", "parity.yaml"), b"of the model")
    manifest = replace(bundle.manifest, training={"seed": 1}, made_for={"calibration": OTHER})
    changed = write_bundle(bundle.folder, manifest, {**bundle.content, **said})
    assert changed.digest != bundle.digest
    assert policy_digest(changed.manifest) == known == policy_digest(load_bundle(bundle.folder).manifest)


@pytest.mark.parametrize(
    "change",
    [
        lambda one: replace(one, files={**one.files, one.model: OTHER}),
        lambda one: replace(one, files={**one.files, "policy.onnx.data": OTHER}),
        lambda one: replace(one, prefix_rows=one.prefix_rows - 1),
        lambda one: replace(one, state_mean=(0.1,) * 7),
        lambda one: replace(one, action=replace(one.action, step_s=2 * one.action.step_s)),
        lambda one: replace(one, pace=replace(one.pace, replan_rows=one.pace.replan_rows + 1)),
    ],
    ids=["weights", "weights beside", "prefix", "normalisation", "time", "pace"],
)
def test_whatever_an_answer_comes_from_makes_it_another(bundle: Bundle, change: Callable) -> None:
    assert policy_digest(change(bundle.manifest)) != policy_digest(bundle.manifest)

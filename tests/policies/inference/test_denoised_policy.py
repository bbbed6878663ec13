"""A bundle of two graphs: context once, a denoiser step by step, the running plan in-painted or overlapped."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest

from tendon.core.errors import ConfigError, InvalidDataError, MismatchError
from tendon.core.types import ActionChunk, Observation
from tendon.policies.bundle.bundle import load_bundle, write_bundle
from tendon.policies.inference.policy import BundlePolicy
from tendon.policies.spec.manifest import Continuation
from tendon.robots.profile import RobotProfile
from tests.policies.tiny_denoiser import ROWS, build_denoised, context_graph, denoise_graph, denoised_manifest

Observe = Callable[..., Observation]
Prefix = Callable[..., ActionChunk]
STEP_NS = 10**8


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    build_denoised(tmp_path / "bundle")
    return tmp_path / "bundle"


def test_it_is_written_and_read_back(folder: Path) -> None:
    bundle = load_bundle(folder)
    assert bundle.manifest == replace(denoised_manifest(), files=bundle.manifest.files)
    assert bundle.manifest.continuations == (Continuation.INPAINTING, Continuation.OVERLAP)


def test_without_a_plan_the_chunk_is_what_the_denoiser_wants(
    folder: Path, profile: RobotProfile, observe: Observe
) -> None:
    """This one wants the mean of every component, from any noise: the tool stays where it is."""
    policy = BundlePolicy(load_bundle(folder), profile)
    chunk = policy.infer(observe())
    assert chunk.actions.shape == (ROWS, 8)
    np.testing.assert_allclose(chunk.actions[:, :7], np.tile(profile.vector("home")[:7], (ROWS, 1)), atol=1e-3)
    np.testing.assert_allclose(chunk.actions[:, 7], 0.02, atol=1e-9)


@pytest.mark.parametrize("continuation", [Continuation.INPAINTING, Continuation.OVERLAP])
@pytest.mark.parametrize(("given", "frozen"), [(1, 1), (5, 2), (ROWS, 3), (4, 0)])
def test_frozen_rows_come_back_and_later_ones_lead(
    folder: Path,
    profile: RobotProfile,
    observe: Observe,
    make_prefix: Prefix,
    continuation: Continuation,
    given: int,
    frozen: int,
) -> None:
    policy = BundlePolicy(load_bundle(folder), profile, continuation=continuation)
    prefix = make_prefix(given)
    finger = prefix.actions.copy()
    finger[:, 7] = 0.04
    prefix = replace(prefix, actions=finger)
    found = policy.infer(observe(), prefix, frozen).actions
    np.testing.assert_array_equal(found[:frozen], prefix.actions[:frozen])
    # From the plan's 0.04 m to the policy's own 0.02 m, the sooner the less is given.
    assert (np.diff(found[frozen:, 7]) <= 1e-9).all() and found[-1, 7] >= 0.02 - 1e-9
    if given > frozen:
        assert 0.02 < found[frozen, 7] < 0.04


def test_what_a_bundle_cannot_do_is_refused(folder: Path, profile: RobotProfile) -> None:
    with pytest.raises(ConfigError, match="does not support trained_prefix, it has: inpainting, overlap"):
        BundlePolicy(load_bundle(folder), profile, continuation=Continuation.TRAINED_PREFIX)


def test_more_frozen_rows_than_leave_something_to_do_are_refused(
    folder: Path, profile: RobotProfile, observe: Observe, make_prefix: Prefix
) -> None:
    policy = BundlePolicy(load_bundle(folder), profile)
    with pytest.raises(InvalidDataError, match=f"prefix has {ROWS} frozen rows, the policy continues at most"):
        policy.infer(observe(), make_prefix(ROWS), ROWS)


@pytest.mark.parametrize(
    ("graph", "words"),
    [
        (denoise_graph(context="other"), "denoise.onnx input names"),
        (denoise_graph(width=3), "denoise.onnx input x shape"),
        (denoise_graph(output="prediction"), "denoise.onnx output names"),
        (denoise_graph(features=9), "denoise.onnx input context shape"),
    ],
)
def test_a_denoiser_that_does_not_fit_is_refused(
    tmp_path: Path, profile: RobotProfile, graph: bytes, words: str
) -> None:
    files = {"context.onnx": context_graph(), "denoise.onnx": graph}
    bundle = write_bundle(tmp_path / "bundle", denoised_manifest(), files)
    with pytest.raises(MismatchError, match=words):
        BundlePolicy(bundle, profile)


def test_a_denoiser_whose_answer_is_not_finite_is_refused(
    tmp_path: Path, profile: RobotProfile, observe: Observe
) -> None:
    model = onnx.load_from_string(denoise_graph())
    model.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(np.array([np.nan], np.float32), "gain"))
    files = {"context.onnx": context_graph(), "denoise.onnx": model.SerializeToString()}
    policy = BundlePolicy(write_bundle(tmp_path / "bundle", denoised_manifest(), files), profile)
    with pytest.raises(InvalidDataError, match=r"actions .* every value must be finite"):
        policy.infer(observe())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"kind": "flaw"}, "denoiser kind is 'flaw', known: flow, diffusion"),
        ({"components": 2}, "denoiser components is 2, the action has 4"),
        ({"noise": "pink"}, "denoiser noise is 'pink', known: gaussian, zeros"),
        ({"schedule": {"steps": 0, "start": 1.0, "end": 0.0}}, "denoiser schedule steps is 0"),
        ({"schedule": {"steps": 4, "start": 1.0, "end": 1.0}}, "starts and ends at time 1.0"),
        ({"schedule": {"steps": 4, "start": 1.0, "stop": 1.0}}, "unknown key stop"),
        ({"graph": ""}, "denoiser graph is ''"),
    ],
)
def test_each_wrong_value_of_a_denoiser_is_one_clear_error(folder: Path, change: dict[str, object], words: str) -> None:
    from tendon.policies.spec.manifest import manifest_mapping, parse_manifest

    raw = manifest_mapping(load_bundle(folder).manifest)
    with pytest.raises(ConfigError, match=words):
        parse_manifest({**raw, "denoiser": {**raw["denoiser"], **change}})


def test_rows_in_the_past_are_denoised_and_not_answered(
    folder: Path, profile: RobotProfile, observe: Observe, make_prefix: Prefix
) -> None:
    """Of a policy that sees several observations, the first rows are due at the older ones."""
    made = denoised_manifest()
    assert made.denoiser is not None
    manifest = replace(made, action=replace(made.action, rows=ROWS - 2), denoiser=replace(made.denoiser, past_rows=2))
    policy = BundlePolicy(write_bundle(folder, manifest, dict(load_bundle(folder).content)), profile)
    prefix = make_prefix(5)
    found = policy.infer(observe(), prefix, 3).actions
    assert found.shape == (ROWS - 2, 8)
    np.testing.assert_array_equal(found[:3], prefix.actions[:3])


def test_rows_in_the_past_that_the_graph_does_not_have_are_refused(folder: Path, profile: RobotProfile) -> None:
    made = denoised_manifest()
    assert made.denoiser is not None
    manifest = replace(made, denoiser=replace(made.denoiser, past_rows=1))
    with pytest.raises(MismatchError, match=r"denoise.onnx input x shape"):
        BundlePolicy(write_bundle(folder, manifest, dict(load_bundle(folder).content)), profile)

"""Numbers of a run: known delays come out as they went in."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from tendon.demo.measurements import acceleration_share, measure
from tendon.demo.recording import Outcome, Recording
from tendon.demo.summary import summarise_run
from tendon.evaluation.statistics import spread
from tendon.policies.bundle.bundle import Bundle, load_bundle
from tendon.sim.tabletop.scene import Scene
from tests.ros2_nodes.tiny_bundle import write_tiny_bundle


def policy_of(bundle: Bundle) -> dict[str, str]:
    return {"name": bundle.manifest.name, "folder": str(bundle.folder), "digest": bundle.digest}


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    return load_bundle(write_tiny_bundle(tmp_path_factory.mktemp("tiny")))


def test_known_delays_come_out_as_they_went_in(make_recording: Callable[..., Recording]) -> None:
    numbers = measure(make_recording())
    assert numbers["latency_ms"]["observation_to_chunk"] == {"count": 40, "p50": 30.0, "p99": 30.0, "max": 30.0}
    assert numbers["latency_ms"]["observation_to_command"]["p50"] == 34.0
    assert numbers["latency_ms"]["inference"]["p50"] == 6.0
    assert numbers["control"]["rate_hz"] == pytest.approx(100.0)
    assert numbers["control"]["period_error_ms"]["max"] == 0.0
    assert (numbers["control"]["overruns"], numbers["chunks"]["rejected"]) == (2, 3)
    assert numbers["cameras"]["wrist"]["rate_hz"] == pytest.approx(20.0)
    assert numbers["cameras"]["scene"]["exposure_to_image_ms"]["p50"] == 8.0


def test_a_late_command_is_jitter_and_a_lost_one_is_not(make_recording: Callable[..., Recording]) -> None:
    recording = make_recording()
    commanded = recording.commanded
    sent = commanded.sent_ns.copy()
    sent[50] += 3_000_000
    late = replace(recording, commanded=replace(commanded, sent_ns=sent))
    assert measure(late)["control"]["period_error_ms"]["max"] == 3.0
    kept = np.arange(len(sent)) != 50
    fields = ("stamp_ns", "sent_ns", "due_ns", "position", "velocity")
    lost = replace(commanded, **{name: getattr(commanded, name)[kept] for name in fields})
    assert measure(replace(recording, commanded=lost))["control"]["period_error_ms"]["max"] == 0.0


def test_acceleration_is_a_share_of_each_joints_limit(make_recording: Callable[..., Recording]) -> None:
    share = acceleration_share(make_recording())
    assert share[:, 0].max() == pytest.approx(0.2 * np.pi**2 / 15.0, rel=1e-3)
    assert share[:, 1:].max() == 0.0


def test_a_run_without_messages_has_no_numbers_but_a_summary(empty_recording: Recording) -> None:
    numbers = measure(empty_recording)
    assert numbers["latency_ms"]["observation_to_command"] == spread([])
    assert numbers["control"]["rate_hz"] == 0.0
    json.dumps(numbers)


def test_the_summary_says_what_was_done_how_far_off_and_with_which_policy(
    make_recording: Callable[..., Recording],
    scene: Scene,
    bundle: Bundle,
) -> None:
    summary = json.loads(json.dumps(summarise_run(make_recording(), scene, policy_of(bundle))))
    assert summary["done"] is True
    assert summary["policy"]["digest"] == bundle.digest
    assert summary["scene"]["seed"] == scene.seed
    assert {"processor", "cores", "memory_gib", "load_average", "platform"} <= set(summary["machine"])
    assert {"python", "numpy", "onnxruntime"} <= set(summary["versions"])
    first, away, last = summary["instructions"]
    assert (first["success"], away["success"], last["success"]) == (True, False, True)
    assert away["outcome"] == "switched"
    assert away["on_the_way"]["speed_toward_object_m_s"] > away["on_the_way"]["speed_toward_next_object_m_s"]
    target, goal = (np.array(scene.items[scene.index(name)].position) for name in ("red cube", "blue bowl"))
    assert first["target_from_goal_m"] == pytest.approx(float(np.hypot(*(target - goal)[:2])), abs=1e-4)


def test_a_task_that_was_not_done_makes_the_run_not_done_and_says_why(
    make_recording: Callable[..., Recording],
    scene: Scene,
    bundle: Bundle,
) -> None:
    summary = summarise_run(make_recording(last=Outcome.NOT_DONE), scene, policy_of(bundle))
    assert summary["done"] is False
    assert summary["instructions"][-1]["reason"] == "not within 15 s"

"""A policy whose detector alarms is slowed, held and stopped by the monitor, with the reason for a person to read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest
from diagnostic_msgs.msg import DiagnosticArray
from onnx import TensorProto, helper, numpy_helper

from tendon.core.modes import PermissionState
from tendon.policies.bundle.bundle import load_bundle, write_bundle
from tendon.policies.detector.detector import Calibration
from tendon.policies.detector.file import detector_files
from tendon.ros2_nodes import wire
from tendon.ros2_nodes.base import qos
from tendon.safety.reports import ResponseRequest
from tendon.safety.response import Response
from tests.ros2_nodes.running_graph import RunningGraph
from tests.ros2_nodes.tiny_bundle import ROWS, write_tiny_bundle

pytestmark = pytest.mark.graph
EMBEDDING = 6


def write_watched_bundle(folder: Path) -> Path:
    """Writes the tiny bundle with an embedding of tens, and a detector that knows only zeros."""
    bundle = load_bundle(write_tiny_bundle(folder))
    model = onnx.load_from_string(bundle.content["policy.onnx"])
    model.graph.initializer.append(numpy_helper.from_array(np.full((1, EMBEDDING), 10.0, np.float32), "tens"))
    model.graph.node.append(helper.make_node("Identity", ["tens"], ["embedding"]))
    model.graph.output.append(helper.make_tensor_value_info("embedding", TensorProto.FLOAT, (1, EMBEDDING)))
    bundle = write_bundle(folder, bundle.manifest, {"policy.onnx": model.SerializeToString()})
    calibration = Calibration(
        row_scale=np.ones((ROWS, 4)),
        centre=np.zeros(EMBEDDING),
        basis=np.eye(EMBEDDING)[:, :2],
        variance=np.ones(3),
        windows={"consistency": 12, "novelty": 1},
        thresholds={"consistency": 100.0, "novelty": 2.0},
        stop_thresholds={"novelty": 4.0},
    )
    write_bundle(folder, bundle.manifest, {**bundle.content, **detector_files(calibration, bundle, 0.05, 100, "none")})
    return folder


@pytest.fixture
def graph(tmp_path: Path) -> Iterator[RunningGraph]:
    bundle = write_watched_bundle(tmp_path / "watched")
    running = RunningGraph(tmp_path / "log", f"policy:={bundle}", "instruction:=left")
    running.ready()
    yield running
    running.end()


def test_a_policy_that_sees_something_new_is_slowed_then_stopped_and_can_be_reset(graph: RunningGraph) -> None:
    responses: list[Response] = []

    def note(message: DiagnosticArray) -> None:
        state = wire.STATE.decode(message)
        if isinstance(state, ResponseRequest):
            responses.append(state.response)

    graph.operator.node.create_subscription(DiagnosticArray, wire.STATE.name, note, qos.EACH)
    graph.wait(lambda: Response.FULL in responses, "the policy node is heard")
    graph.arm()
    graph.wait(lambda: graph.state() is PermissionState.LATCHED, "a latched stop")
    said = graph.reason()
    assert "policy_node" in said and "sees something new" in said, said
    assert {Response.SLOW, Response.HOLD} <= set(responses), responses
    graph.wait(
        lambda: graph.operator.reports.newest(ResponseRequest).response is Response.FULL,
        "nothing held against the next run",
    )
    graph.operator.reset()
    graph.wait(lambda: graph.state() is PermissionState.STANDBY, "reset")

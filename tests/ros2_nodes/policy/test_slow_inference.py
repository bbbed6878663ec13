"""A graph ends in order while an inference is under way that takes longer than an end may."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ros2_nodes.running_graph import RunningGraph
from tests.ros2_nodes.tiny_bundle import write_tiny_bundle

pytestmark = [pytest.mark.graph, pytest.mark.laws]


def test_its_engine_is_not_taken_down_under_it(tmp_path: Path) -> None:
    bundle = write_tiny_bundle(tmp_path / "slow", products=30)
    log = tmp_path / "log"
    graph = RunningGraph(log, f"policy:={bundle}", "instruction:=left")
    try:
        graph.ready()
        graph.wait(lambda: bool(graph.policy().policy), "the policy node")
        graph.arm()
        graph.wait(lambda: "its last row is already past" in log.read_text(), "a chunk, which comes too late")
    finally:
        code = graph.end()
    text = log.read_text()
    assert code == 0, text
    assert "terminate called" not in text and "onnxruntime" not in text, text
    assert "the robot is at rest" in text

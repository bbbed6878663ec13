"""Who is no robot, although it takes its commands."""

from __future__ import annotations

from pathlib import Path

from tendon.graph.description import describe, teleop_process
from tendon.ros2_nodes.monitor.inputs import ONLOOKERS
from tests.ros2_nodes.tiny_bundle import write_tiny_bundle


def test_no_node_of_the_graph_on_hardware_is_taken_for_the_robot(tmp_path: Path) -> None:
    """With the robot's driver away, what records or leads must not stand in for it."""
    bundle = write_tiny_bundle(tmp_path / "tiny")
    graph = describe({"backend": "hardware", "policy": str(bundle), "record": "true"})
    leader = teleop_process(robot="panda", backend="hardware", simulated_time=False, devices=["keyboard"])
    assert {"recorder_node", "control_node"} <= {each.name for each in graph.processes}
    assert {each.name for each in (*graph.processes, leader)} <= set(ONLOOKERS)

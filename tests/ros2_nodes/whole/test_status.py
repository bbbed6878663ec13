"""`tendon status` on a real graph: all is well, then a camera is gone and a driver asks for what nobody offers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState

from tests.ros2_nodes.running_graph import RunningGraph

pytestmark = pytest.mark.graph


def status(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tendon.cli", "status", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, env={**os.environ, "COLUMNS": "200"})


def test_a_graph_that_is_well(graph: RunningGraph) -> None:
    """What is compared here does not depend on how busy the machine is."""
    result = status("--json")
    values = json.loads(result.stdout)
    assert values["robot"] == "panda"
    assert all(node["seen"] for node in values["nodes"].values()), values["nodes"]
    assert set(values["nodes"]) == {"sim_node", "camera_node", "safety_monitor", "control_node", "policy_node"}
    scene = values["topics"]["camera/scene/image_raw"]
    assert scene["publishers"] == {"camera_node": "reliable"} and scene["messages"] > 0
    assert scene["subscribers"]["policy_node"] == "best effort"
    assert values["skew_ms"]["scene wrist"] == 0.0
    wiring = [p for p in values["problems"] if "nobody" in p["text"] or "publishers" in p["text"]]
    assert wiring == []


def test_what_cannot_match_and_who_is_missing_is_named(graph: RunningGraph, tmp_path: Path) -> None:
    """A camera process that hangs is not heard by whoever comes later; a subscription is never served."""
    node = graph.operator.node
    best_effort = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
    publisher = node.create_publisher(JointState, "joint_states", best_effort)
    reliable = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE)
    subscription = node.create_subscription(JointState, "joint_states", lambda _: None, reliable)
    graph.signal("camera_node", signal.SIGSTOP)
    try:
        graph.wait(lambda: (graph.operator.reports.age_s("camera_node") or 0) > 4, "silence")
        result = status()
    finally:
        graph.signal("camera_node", signal.SIGCONT)
        node.destroy_subscription(subscription)
        node.destroy_publisher(publisher)
    assert result.returncode == 1, result.stdout + result.stderr
    assert "camera_node: is not heard" in result.stdout
    assert "camera/scene/image_raw: nobody publishes it, expected camera_node" in result.stdout
    assert "joint_states: has 2 publishers" in result.stdout
    assert f"{node.get_name()} hears nothing of {node.get_name()}: best effort publisher" in result.stdout

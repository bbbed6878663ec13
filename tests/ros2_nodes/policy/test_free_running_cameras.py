"""Cameras that nobody triggers together, against a real policy node: used, or named with the gap between them."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import yaml
from sensor_msgs.msg import Image as ImageMessage
from sensor_msgs.msg import JointState

from tendon.core.paths import share_folder
from tendon.core.types import Image
from tendon.graph.description import describe
from tendon.ros2_nodes import wire
from tendon.ros2_nodes.base import qos
from tendon.ros2_nodes.clients.operator import Operator
from tests.ros2_nodes.running_graph import PATIENCE_S, PROFILE
from tests.ros2_nodes.tiny_bundle import write_tiny_bundle

pytestmark = pytest.mark.graph

PERIOD_NS, APART_NS, JOINTS_NS = 50_000_000, 25_000_000, 10_000_000


def robot_that_allows(folder: Path, skew_s: float | None) -> Path:
    """Writes the Panda's profile with another bound."""
    panda = share_folder() / "robots" / "panda"
    values = yaml.safe_load((panda / "profile.yaml").read_text(encoding="utf-8"))
    values |= {key: str(panda / values[key]) for key in ("urdf", "collisions")}
    if skew_s is not None:
        values["camera_skew_s"] = skew_s
    (folder / "profile.yaml").write_text(yaml.safe_dump(values), encoding="utf-8")
    return folder / "profile.yaml"


class Cameras:
    """Publishes two cameras of 20 Hz, 25 ms apart, and joint states; what is due by now at each call."""

    def __init__(self, operator: Operator) -> None:
        node = operator.node
        self._images = {
            camera: node.create_publisher(ImageMessage, f"camera/{camera.name}/image_raw", qos.STREAM)
            for camera in PROFILE.cameras
        }
        self._states = node.create_publisher(JointState, "joint_states", qos.STREAM)
        now_ns = time.time_ns()
        self._due = {camera: now_ns + k * APART_NS for k, camera in enumerate(self._images)}
        self._joints_due_ns = now_ns

    def publish(self) -> None:
        now_ns = time.time_ns()
        while self._joints_due_ns <= now_ns:
            position, velocity = PROFILE.vector("home"), np.zeros(len(PROFILE.joints))
            self._states.publish(wire.joint_state_message(self._joints_due_ns, PROFILE.joint_names, position, velocity))
            self._joints_due_ns += JOINTS_NS
        for camera, publisher in self._images.items():
            while self._due[camera] <= now_ns:
                pixels = np.zeros((camera.height, camera.width, 3), np.uint8)
                image = Image(stamp_ns=self._due[camera], pixels=pixels)
                publisher.publish(wire.image_message(image, camera.frame))
                self._due[camera] += PERIOD_NS


@pytest.fixture
def operator() -> Iterator[Operator]:
    operator = Operator("test")
    yield operator
    operator.close()


@pytest.mark.parametrize(
    ("skew_s", "message", "used"),
    [
        (None, "waiting for an instruction", True),
        (0.01, r"cameras scene and wrist are 25\.0 ms apart at best, at most 10\.0 ms", False),
    ],
    ids=["used", "named"],
)
def test_two_cameras_25_ms_apart(
    tmp_path: Path, operator: Operator, skew_s: float | None, message: str, used: bool
) -> None:
    """By default they give observations; where the profile allows less, both are named with the gap."""
    values = {
        "clock": "realtime",
        "robot": str(robot_that_allows(tmp_path, skew_s)),
        "policy": str(write_tiny_bundle(tmp_path / "tiny")),
    }
    command = next(each for each in describe(values).processes if each.name == "policy_node").command
    node = subprocess.Popen(command)
    cameras = Cameras(operator)

    def told() -> bool:
        cameras.publish()
        status = operator.reports.status("policy_node")
        if status is None or re.search(message, status.text) is None:
            return False
        return (status.meters["observation"].rate_hz > 0) is used

    try:
        assert operator.wait(told, PATIENCE_S), operator.reports.status("policy_node")
    finally:
        node.terminate()
        node.wait(30)

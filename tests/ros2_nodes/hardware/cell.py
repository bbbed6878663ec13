"""A robot behind a stand-in for ros2_control and the graph that runs it, each of real processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from std_msgs.msg import String

from tendon.core.errors import StoppedError
from tendon.robots.profile import load_profile
from tendon.ros2_nodes.base import qos
from tests import ROOT
from tests.ros2_nodes.running_graph import RunningGraph

EXAMPLE = ROOT / "docs" / "examples" / "two_joint_arm" / "profile.yaml"
MANAGED = {"controller_manager": "controller_manager"}


def write_profile(folder: Path, **values: Any) -> Path:
    """Writes the profile of an arm with two joints and one controller, and more."""
    profile = yaml.safe_load(EXAMPLE.read_text())
    profile |= {key: str(EXAMPLE.parent / profile[key]) for key in ("urdf", "collisions")} | values
    path = folder / "profile.yaml"
    path.write_text(yaml.safe_dump(profile))
    return path


class Cell:
    """Runs until `close`.

    Attributes:
        graph: what runs the robot; it follows the chunks of `teleop`.

    Args:
        folder: for logs and the profile.
        messages: the folder of controller_manager_msgs.
        flags: of the stand-in.
        values: of the profile.
    """

    def __init__(self, folder: Path, messages: Path, *flags: str, **values: Any) -> None:
        path = write_profile(folder, **values)
        self.profile, self.controller = load_profile(path), "arm_controller"
        self._log = folder / "ros2_control"
        known = os.pathsep.join(filter(None, (str(messages), os.environ.get("PYTHONPATH", ""))))
        with self._log.open("w") as output:
            self.robot = subprocess.Popen(
                [sys.executable, "-m", "tests.ros2_nodes.hardware.ros2_control", str(path), *flags],
                cwd=ROOT,
                env=os.environ | {"PYTHONPATH": known},
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        arguments = (f"robot:={path}", "backend:=hardware", "policy:=none")
        before = os.environ.get("PYTHONPATH")
        os.environ["PYTHONPATH"] = known
        try:
            self.graph = RunningGraph(folder / "log", *arguments, profile=self.profile, source="teleop")
        finally:
            if before is None:
                del os.environ["PYTHONPATH"]
            else:
                os.environ["PYTHONPATH"] = before
        node = self.graph.operator.node
        node.create_publisher(String, "control/source", qos.LATCHED).publish(String(data="teleop"))

    def switched(self) -> list[tuple[bool, float]]:
        """Returns what was switched so far: to active or not, and how fast the robot was commanded until then."""
        lines = [line.split() for line in self._log.read_text().splitlines() if line.startswith(self.controller)]
        return [(words[1] == "active", float(words[2])) for words in lines]

    def active(self) -> bool:
        """Whether the controller was made active last."""
        switched = self.switched()
        return bool(switched) and switched[-1][0]

    def set(self, node: str, name: str, value: Any) -> None:
        """Sets a parameter of the stand-in."""
        client = self.graph.operator.node.create_client(SetParameters, f"{node}/set_parameters")
        self.graph.wait(client.service_is_ready, f"{node} takes parameters")
        request = SetParameters.Request(parameters=[Parameter(name, value=value).to_parameter_msg()])

        def taken() -> bool:  # the answer to a client that has just begun may be lost
            future = client.call_async(request)
            return self.graph.operator.wait(future.done, 2.0) and future.result().results[0].successful

        self.graph.wait(taken, f"{node} took {name}")

    def refusal(self) -> str:
        """Asks to arm; returns why not, empty when the robot is armed."""
        try:
            self.graph.operator.arm()
        except StoppedError as error:
            return str(error)
        return ""

    def close(self) -> None:
        """Ends the graph, then the stand-in."""
        try:
            self.graph.end()
        finally:
            self.robot.kill()
            self.robot.wait()

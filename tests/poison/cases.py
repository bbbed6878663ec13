"""Every node of the graph, each in the ways that give it all of its subscriptions."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import rclpy
import yaml

from tendon.control.residual.space import ResidualSpace
from tendon.graph.namespace import CLOCK_REMAPPING
from tendon.robots.profile import RobotProfile, load_profile
from tests import ROOT
from tests.poison import messages
from tests.poison.answering import played_services
from tests.poison.monitored import MonitorSubject
from tests.poison.onlookers import ClientSubject, RecorderSubject
from tests.poison.subjects import (
    CameraSubject,
    ControlSubject,
    ExpertSubject,
    PlainSubject,
    PolicySubject,
    RecorderSide,
    StandInSubject,
    Subject,
    TeleopSubject,
)
from tests.policies.residual.tiny import write_constant
from tests.ros2_nodes.hardware.generated_messages import make_messages
from tests.ros2_nodes.tiny_bundle import write_tiny_bundle

STOP_INPUTS = [
    {"name": "enabling device", "topic": "enabled/permits", "permits": [True], "response": "hold", "max_age_s": 1.0},
    {"name": "robot mode", "topic": "mode/permits", "permits": [7], "type": "std_msgs/msg/UInt8"},
]


def altered_profile(folder: Path, kind: str) -> Path:
    """Writes the Panda's profile with "people", "inputs", managed "controllers" or a hand that takes "positions"."""
    shipped = ROOT / "robots" / "panda" / "profile.yaml"
    values = yaml.safe_load(shipped.read_text())
    for key in ("urdf", "collisions"):
        if isinstance(values.get(key), str) and not values[key].startswith(("/", "package:")):
            values[key] = str(shipped.parent / values[key])
    if kind == "people":
        values["human"] = {"topic": messages.PEOPLE}
    elif kind == "inputs":
        values["stop_inputs"] = STOP_INPUTS
    elif kind == "controllers":
        values["controller_manager"] = "controller_manager"
    else:
        values["controllers"][-1] |= {"type": "forward_command", "timeout_s": 0.1}
    path = folder / f"{kind}.yaml"
    path.write_text(yaml.safe_dump(values))
    return path


def _stand_in(module: str, name: str) -> Callable[[RobotProfile], Subject]:
    def make(profile: RobotProfile) -> Subject:

        return StandInSubject(getattr(importlib.import_module(f"tendon.ros2_nodes.{module}"), name)(), profile)

    return make


def _mock_cameras(profile: RobotProfile) -> Subject:
    from tendon.ros2_nodes.mock_camera_node import MockCameraNode

    return PlainSubject(MockCameraNode(), profile)


def _recorder(profile: RobotProfile) -> Subject:
    from tendon.ros2_nodes.recorder_node import RecorderNode

    return RecorderSide(RecorderNode(), profile)


@dataclass(frozen=True, kw_only=True)
class Case:
    """One way in which a node is run.

    Attributes:
        module: of ros2_nodes, or what those who look on are called.
        make: the subject.
        robot: its profile; see `altered_profile`.
        parameters: of the node.
        only: what the topics end with that this case is for; empty for all.
    """

    module: str
    make: Callable[[RobotProfile], Subject]
    robot: str = "panda"
    parameters: tuple[str, ...] = ()
    only: str = ""


CASES = {
    "control_node": Case(module="control_node", make=ControlSubject, robot="people", parameters=("residual",)),
    "safety_monitor": Case(module="safety_monitor", make=MonitorSubject),
    "safety_monitor: positions": Case(
        module="safety_monitor", make=MonitorSubject, robot="positions", only="/commands"
    ),
    "safety_monitor: inputs": Case(module="safety_monitor", make=MonitorSubject, robot="inputs", only="/permits"),
    "safety_monitor: controllers": Case(
        module="safety_monitor", make=MonitorSubject, robot="controllers", only="switch_controller: answers"
    ),
    "policy_node": Case(module="policy_node", make=PolicySubject, parameters=("bundle",)),
    "policy_node: expert": Case(
        module="policy_node", make=ExpertSubject, parameters=("bundle:=expert", "suite:=tabletop"), only="world_state"
    ),
    "sim_node": Case(
        module="sim_node", make=_stand_in("sim_node", "SimNode"), parameters=("simulated_time:=true", "backend:=sim")
    ),
    "camera_node": Case(module="camera_node", make=CameraSubject),
    "mock_node": Case(module="mock_node", make=_stand_in("mock_node", "MockNode")),
    "mock_node: positions": Case(
        module="mock_node", make=_stand_in("mock_node", "MockNode"), robot="positions", only="/commands"
    ),
    "mock_camera_node": Case(
        module="mock_camera_node", make=_mock_cameras, parameters=("use_sim_time:=true", "backend:=mock")
    ),
    "recorder_node": Case(module="recorder_node", make=_recorder, robot="people", parameters=("recordings",)),
    "teleop_node": Case(
        module="teleop_node", make=TeleopSubject, parameters=("devices:=leader:panda@/leader+gamepad",)
    ),
    "clients": Case(module="clients", make=ClientSubject),
    "recorder": Case(module="recorder", make=RecorderSubject),
}
"""Every node, each in the ways that give it all of its subscriptions."""


def _bundle(folder: Path) -> Path:
    return write_tiny_bundle(folder / "tiny")


def _residual(folder: Path) -> Path:
    return write_constant(folder / "residual", [0.2, 0.1, 0.0, 0.0], messages.DIGEST, ResidualSpace())


@contextmanager
def running(name: str, folder: Path) -> Iterator[Subject]:
    """Makes a subject, and ends it afterwards. One at a time.

    Args:
        name: of `CASES`.
        folder: for profiles, bundles and state.
    """
    case = CASES[name]
    if case.robot == "controllers":
        sys.path.append(str(make_messages(folder)))
    os.environ["TENDON_STATE"] = str(folder / "state")
    robot = case.robot if case.robot == "panda" else str(altered_profile(folder, case.robot))
    parameters = [f"robot:={robot}"]
    written = {"bundle": _bundle, "residual": _residual, "recordings": lambda folder: folder / "recordings"}
    for each in case.parameters:
        parameters.append(f"{each}:={written[each](folder)}" if each in written else each)
    words = [word for each in parameters for word in ("-p", each)]
    rclpy.init(args=["--ros-args", "-r", ":=".join(CLOCK_REMAPPING), *words])
    try:
        with played_services() as played:
            subject = case.make(load_profile(robot))
            subject.only, subject.played = case.only, played
            try:
                yield subject
            finally:
                subject.close()
    finally:
        rclpy.try_shutdown()

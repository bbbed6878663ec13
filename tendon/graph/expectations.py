"""Which topics a graph with this robot needs, who sends and who receives them, and how often."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from tendon.core.modes import Source
from tendon.graph import topics
from tendon.graph.running.state import ALWAYS, RECORDER_NODE, STAND_INS
from tendon.observation.buffer import Tolerances
from tendon.robots.profile import Human, RobotProfile, StopInput

ROBOT, CAMERA, CONTROLLER = "the robot's driver", "the camera's driver", "the robot's controller"


@dataclass(frozen=True, kw_only=True)
class Expectation:
    """What is expected of one topic.

    Attributes:
        topic: relative name.
        type: such as "sensor_msgs/msg/Image".
        sender: who should publish, in words; empty if nobody needs to.
        receiver: who should subscribe; empty if nobody needs to.
        flows: messages should come all the time.
        rate_hz: how often, by their stamps; `None` for any.
        age_ms: how old a message may be when it arrives; `None` for any.
        alone: whether a second publisher is a mistake.
        stamped: it begins with a header.
    """

    topic: str
    type: str
    sender: str = ""
    receiver: str = ""
    flows: bool = False
    rate_hz: float | None = None
    age_ms: float | None = None
    alone: bool = False
    stamped: bool = True


def expected_nodes(profile: RobotProfile, present: Collection[str]) -> tuple[str, ...]:
    """Returns the nodes a graph should have, judged by those it has: not each has a policy or a recorder.

    Args:
        profile: of the robot; one without cameras has no node for them.
        present: that were seen.
    """
    stand_ins = [name for pair in STAND_INS.items() if set(pair) & set(present) for name in pair]
    if not profile.cameras:
        stand_ins = [name for name in stand_ins if name not in STAND_INS.values()]
    return (*stand_ins, *ALWAYS, *(name for name in ("policy_node", RECORDER_NODE) if name in present))


def expected_topics(profile: RobotProfile, nodes: Collection[str]) -> tuple[Expectation, ...]:
    """Returns what is expected of each topic in the order of the data flow.

    Args:
        profile: of the robot.
        nodes: that the graph should have.
    """
    robot = next((name for name in STAND_INS if name in nodes), ROBOT)
    camera_node = next((name for name in STAND_INS.values() if name in nodes), CAMERA)
    sees = "policy_node" in nodes
    cameras = (
        Expectation(
            topic=topics.image(camera.name),
            type="sensor_msgs/msg/Image",
            sender=camera_node if sees or camera_node != CAMERA else "",
            flows=sees,  # nobody needs to take them all: a policy takes those that it sees, the expert none
            rate_hz=camera.rate_hz,
            age_ms=Tolerances().age_ns / 1e6,
            alone=True,
        )
        for camera in profile.cameras
    )
    controllers = (
        Expectation(
            topic=topics.commands(controller),
            type="trajectory_msgs/msg/JointTrajectory",
            sender="control_node",
            receiver=robot if robot != ROBOT else CONTROLLER,
            alone=True,
        )
        if controller.type == "joint_trajectory"
        else Expectation(
            topic=topics.commands(controller),
            type="std_msgs/msg/Float64MultiArray",
            sender="control_node",
            receiver=CONTROLLER,
            alone=True,
            stamped=False,
        )
        for controller in profile.controllers
    )
    chunk = "trajectory_msgs/msg/JointTrajectory"
    policy, teleop = map(topics.action_chunk, (Source.POLICY, Source.TELEOP))
    reports = "diagnostic_msgs/msg/DiagnosticArray"
    people = () if profile.human is None else (_people(profile.human),)
    inputs = map(_input, profile.stop_inputs)
    return (
        Expectation(
            topic=topics.JOINT_STATES,
            type="sensor_msgs/msg/JointState",
            sender=robot,
            receiver="control_node",
            flows=True,
            rate_hz=profile.control_hz,
            age_ms=profile.safety.joint_state_age_s * 1e3,
            alone=True,
        ),
        *cameras,
        *people,
        *inputs,
        Expectation(
            topic=policy, type=chunk, sender="policy_node" if sees else "", receiver="control_node", alone=True
        ),
        Expectation(topic=teleop, type=chunk, receiver="control_node", alone=True),
        *controllers,
        Expectation(
            topic=topics.PERMISSION,
            type=reports,
            sender="safety_monitor",
            receiver="control_node",
            flows=True,
            alone=True,
        ),
        Expectation(topic=topics.STATE, type=reports, sender="control_node", receiver="safety_monitor", flows=True),
        Expectation(
            topic=topics.INSTRUCTION, type="std_msgs/msg/String", receiver="policy_node" if sees else "", stamped=False
        ),
        Expectation(topic=topics.HEARTBEAT, type="std_msgs/msg/Header", sender="every node", flows=True),
        Expectation(topic=topics.DIAGNOSTICS, type=reports, sender="every node", flows=True),
    )


def _people(human: Human) -> Expectation:
    return Expectation(topic=human.topic, type="geometry_msgs/msg/PoseArray", sender="who sees people", flows=True)


def _input(spec: StopInput) -> Expectation:
    package, *_, name = spec.type.split("/")
    return Expectation(
        topic=spec.topic,
        type=f"{package}/msg/{name}",
        sender=spec.name if spec.required else "",
        receiver="safety_monitor",
        flows=spec.required and spec.max_age_s is not None,
        stamped=False,
    )

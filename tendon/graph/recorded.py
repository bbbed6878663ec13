"""Which topics a recording has, with the type of each. Pure data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tendon.core.modes import Source
from tendon.data.recording.episode import Roles
from tendon.graph import topics
from tendon.robots.profile import RobotProfile

IMAGE, INFO, JOINTS = "sensor_msgs/msg/Image", "sensor_msgs/msg/CameraInfo", "sensor_msgs/msg/JointState"
TRAJECTORY, POSITIONS = "trajectory_msgs/msg/JointTrajectory", "std_msgs/msg/Float64MultiArray"
STATUS, HEADER, TEXT = "diagnostic_msgs/msg/DiagnosticArray", "std_msgs/msg/Header", "std_msgs/msg/String"
CLOCK, PEOPLE = "rosgraph_msgs/msg/Clock", "geometry_msgs/msg/PoseArray"
CLOUD = "sensor_msgs/msg/PointCloud"
STAMPED = (IMAGE, INFO, JOINTS, TRAJECTORY, STATUS, HEADER, PEOPLE, CLOUD)
"""Types that begin with a header."""
ANNOUNCED = (topics.INSTRUCTION, topics.FOLLOWED_INSTRUCTION, topics.SELECT, topics.CONTROL_SOURCE)
"""Topics that say what holds from now on: an episode begins with what was said last."""


@dataclass(frozen=True, kw_only=True)
class RecordedTopic:
    """One topic.

    Attributes:
        name: relative.
        kind: type of its messages.
        own: only one node publishes there, so that its count shows what was lost.
        command: it takes commands to the robot.
    """

    name: str
    kind: str
    own: bool = True
    command: bool = False


def recorded_topics(profile: RobotProfile) -> list[RecordedTopic]:
    """Returns every topic of a graph with that robot."""
    found = [RecordedTopic(name=topics.JOINT_STATES, kind=JOINTS)]
    for camera in profile.cameras:
        found.append(RecordedTopic(name=topics.image(camera.name), kind=IMAGE))
        found.append(RecordedTopic(name=topics.camera_info(camera.name), kind=INFO))
    for controller in profile.controllers:
        kind = TRAJECTORY if controller.type == "joint_trajectory" else POSITIONS
        found.append(RecordedTopic(name=topics.commands(controller), kind=kind, command=True))
    found += [RecordedTopic(name=topics.action_chunk(each), kind=TRAJECTORY) for each in (Source.POLICY, Source.TELEOP)]
    found += [RecordedTopic(name=name, kind=TEXT, own=False) for name in ANNOUNCED]
    found += [RecordedTopic(name=name, kind=HEADER) for name in (topics.FRAMES, topics.GIVEN)]
    found += [
        RecordedTopic(name=topics.FILTER_INPUT, kind=TRAJECTORY),
        RecordedTopic(name=topics.FEATURES, kind=CLOUD),
        RecordedTopic(name=topics.RESIDUAL, kind=TRAJECTORY),
        RecordedTopic(name=topics.PERMISSION, kind=STATUS),
        RecordedTopic(name=topics.STATE, kind=STATUS, own=False),
        RecordedTopic(name=topics.DIAGNOSTICS, kind=STATUS, own=False),
        RecordedTopic(name=topics.HEARTBEAT, kind=HEADER, own=False),
        RecordedTopic(name=topics.RECORD_NOTE, kind=TEXT, own=False),
        RecordedTopic(name=topics.CLOCK, kind=CLOCK),
        RecordedTopic(name=topics.DONE, kind=HEADER, own=False),
        RecordedTopic(name=topics.WORLD_STATE, kind=JOINTS),
        RecordedTopic(name=topics.COMMANDED, kind=TRAJECTORY),
        RecordedTopic(name=topics.TASK, kind=STATUS),
    ]
    if profile.human is not None:
        found.append(RecordedTopic(name=profile.human.topic, kind=PEOPLE, own=False))
    for each in profile.stop_inputs:
        package, *_, message = each.type.split("/")
        found.append(RecordedTopic(name=each.topic, kind=f"{package}/msg/{message}", own=False))
    return found


def roles(profile: RobotProfile, resolved: Mapping[str, str]) -> Roles:
    """Returns which recorded topic is what.

    Args:
        profile: of the robot.
        resolved: relative name to absolute one.
    """
    others = {
        "instruction": topics.INSTRUCTION,
        "followed": topics.FOLLOWED_INSTRUCTION,
        "source": topics.CONTROL_SOURCE,
        "given": topics.GIVEN,
        "note": topics.RECORD_NOTE,
    }
    return Roles(
        joint_names=profile.joint_names,
        joint_states=resolved[topics.JOINT_STATES],
        cameras={camera.name: resolved[topics.image(camera.name)] for camera in profile.cameras},
        commands={each.name: resolved[topics.commands(each)] for each in profile.controllers},
        chunks={each.value: resolved[topics.action_chunk(each)] for each in (Source.POLICY, Source.TELEOP)},
        others={name: resolved[topic] for name, topic in others.items()},
    )

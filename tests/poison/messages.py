"""Good messages of every topic and service of the graph, as its nodes and drivers send them."""

from __future__ import annotations

import copy
from array import array
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from geometry_msgs.msg import Point, Pose, PoseArray
from rcl_interfaces.msg import Parameter, ParameterValue, SetParametersResult
from rclpy.serialization import deserialize_message
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import Image as ImageMessage
from sensor_msgs.msg import JointState, PointCloud
from std_msgs.msg import Float64MultiArray, String
from trajectory_msgs.msg import JointTrajectory

from tendon.core.causes import Cause
from tendon.core.filter_input import FilterInput
from tendon.core.modes import Mode, PermissionState, Source
from tendon.core.node_status import (
    ControlStatus,
    LatencyReport,
    Level,
    MeterReport,
    MockStatus,
    MonitorStatus,
    NodeStatus,
    PolicyStatus,
    SimulationStatus,
)
from tendon.core.permission import Permission
from tendon.core.types import ActionChunk, Features, Image, SentTrajectory
from tendon.graph import topics
from tendon.observation.assembly import Sources
from tendon.robots.profile import ControllerSpec, RobotProfile, StopInput
from tendon.ros2_nodes import wire
from tendon.ros2_nodes.wire.world_state import scene_label, world_state_message
from tendon.safety.camera_watch import Frame
from tendon.safety.reports import ControlState, MonitorState, ResponseRequest, TaskState
from tendon.safety.response import Response
from tendon.sim.tabletop.scene import sample_scene
from tendon.sim.world_state import WorldState

Maker = Callable[[], Any]
"""Makes a good message."""
PEOPLE = "people"
DIGEST = "d" * 64
"""Of the policy that a residual corrects."""


def makers(topic: str, profile: RobotProfile, now_ns: int) -> list[Maker]:
    """Returns what makes good messages of a topic, some of each kind that it has; none for an unknown topic.

    Args:
        topic: relative to the namespace of the graph.
        profile: of the robot.
        now_ns: their stamp.
    """
    controllers = {topics.commands(controller): controller for controller in profile.controllers}
    if topic in controllers:
        return _commands(controllers[topic], profile, now_ns)
    if topic.endswith("/image_raw"):
        return [lambda: image(topic.split("/")[1], profile, now_ns)]
    if topic == topics.action_chunk(Source.TELEOP):
        return [lambda: held_chunk(profile, now_ns, now_ns), lambda: held_chunk(profile, now_ns, 0)]
    if topic.endswith("/action_chunk"):
        return [lambda: chunk(profile, now_ns), lambda: chunk(profile, now_ns, rows=2, step_ns=2_000_000)]
    return _others(topic, profile, now_ns)


def filter_input(profile: RobotProfile, now_ns: int, number: int) -> JointTrajectory:
    """Returns one of the messages of what the filter was given in a tick."""
    data = list(wire.filter_input_bytes(now_ns, profile.joint_names, filter_inputs(profile)))[number]
    return deserialize_message(data, JointTrajectory)


def _others(topic: str, profile: RobotProfile, now_ns: int) -> list[Maker]:
    texts = {
        topics.INSTRUCTION: ("left", "stop", "put the red block in the bin"),
        topics.FOLLOWED_INSTRUCTION: ("left",),
        topics.CONTROL_SOURCE: ("policy", "teleop", "hold"),
        topics.SELECT: ("tiny", "none"),
        topics.RECORD_NOTE: ("it went well",),
    }
    if topic in texts:
        return [lambda text=text: String(data=text) for text in texts[topic]]
    values = {
        wire.PERMISSION.name: (wire.PERMISSION, permissions(now_ns)),
        wire.STATE.name: (wire.STATE, states(now_ns)),
        wire.DIAGNOSTICS.name: (wire.DIAGNOSTICS, statuses()),
        wire.TASK.name: (wire.TASK, [TaskState(scene="put/1", instruction="left", relation="in", done=False)]),
    }
    if topic in values:
        kind, said = values[topic]
        foreign = [foreign_status] if topic == wire.DIAGNOSTICS.name else []
        return [*foreign, *(lambda value=value: kind.encode(value, now_ns) for value in said)]
    frame = Frame(stamp_ns=now_ns, digest=123456, darkest=3, brightest=250)
    camera = profile.cameras[0].name if profile.cameras else "scene"
    beat = wire.Heartbeat(node="control_node", instance="17-4")
    given = Sources(stamp_ns=now_ns, images={camera: now_ns}, joints=(now_ns - 5_000_000, now_ns + 5_000_000))
    done = wire.Done(node="control_node", pid=17, stamp_ns=now_ns, commands=1)
    single: dict[str, list[Maker]] = {
        topics.JOINT_STATES: [lambda: joint_state(profile, now_ns)],
        f"leader/{topics.JOINT_STATES}": [lambda: joint_state(profile, now_ns)],
        topics.HEARTBEAT: [lambda: wire.heartbeat_message(beat, now_ns)],
        topics.FRAMES: [lambda: wire.frame_message(camera, frame)],
        topics.GIVEN: [lambda: wire.given_message(given, 32 * "a")],
        topics.DONE: [lambda: wire.done_message(done)],
        topics.CLOCK.strip("/"): [lambda: Clock(clock=wire.time_message(now_ns))],
        topics.WORLD_STATE: [lambda: world(profile, now_ns)],
        PEOPLE: [lambda: people(profile, now_ns)],
        topics.COMMANDED: [lambda: commanded(profile, now_ns)],
        topics.RESIDUAL: [lambda: commanded(profile, now_ns)],
        topics.FEATURES: [lambda: features(profile, now_ns)],
        topics.FILTER_INPUT: [lambda k=k: filter_input(profile, now_ns, k) for k in (0, 1)],
    }
    for spec in profile.stop_inputs:
        single[spec.topic] = [lambda spec=spec: stop_input(spec)]
    for each in profile.cameras:
        single[topics.camera_info(each.name)] = [
            lambda each=each: wire.camera_info_message(now_ns, each.frame, each.width, each.height, np.eye(3))
        ]
    return single.get(topic, [])


def features(profile: RobotProfile, now_ns: int) -> PointCloud:
    """Returns what a policy made of an observation."""
    told = Features(policy=DIGEST, embedding=np.linspace(-1.0, 1.0, 5), points=np.array([[0.5, 0.1, 0.02]]))
    return wire.features_message(told, now_ns, profile.base_frame)


def joint_state(profile: RobotProfile, now_ns: int, position: Any = None) -> JointState:
    """Returns a robot at rest, at home or elsewhere."""
    home = profile.vector("home") if position is None else position
    return wire.joint_state_message(now_ns, profile.joint_names, home, np.zeros(len(home)))


def chunk(profile: RobotProfile, now_ns: int, rows: int = 10, step_ns: int = 100_000_000) -> JointTrajectory:
    """Returns rows that swing the first joint a little around home."""
    actions = np.tile(profile.vector("home"), (rows, 1))
    actions[:, 0] += 0.1 * np.sin(np.arange(rows) + now_ns * 1e-9)
    said = ActionChunk(actions=actions, start_ns=now_ns + step_ns, step_ns=step_ns, observation_stamp_ns=now_ns)
    return deserialize_message(wire.chunk_bytes(said, profile.joint_names), JointTrajectory)


def held_chunk(profile: RobotProfile, now_ns: int, hold_ns: int) -> JointTrajectory:
    """Returns a chunk of who teleoperates."""
    message = chunk(profile, now_ns)
    message.header.frame_id = f"1 {hold_ns}"
    return message


def trajectory(controller: ControllerSpec, profile: RobotProfile, now_ns: int, points: int) -> JointTrajectory:
    """Returns what a controller takes: points 10 ms apart that end 0.01 off home."""
    columns = [profile.joint_names.index(name) for name in controller.joints]
    share = np.linspace(0.0, 1.0, points)[:, None]
    velocity = np.zeros((points, len(columns)))
    velocity[1:-1] = 1.0 / max(points - 1, 1)
    sent = SentTrajectory(
        stamp_ns=now_ns,
        joint_names=tuple(controller.joints),
        times_ns=[10_000_000 * (k + 1) for k in range(points)],
        position=profile.vector("home")[columns] + 0.01 * share,
        velocity=velocity,
    )
    return deserialize_message(wire.write_trajectory(sent), JointTrajectory)


def commanded(profile: RobotProfile, now_ns: int) -> JointTrajectory:
    """Returns a batch of what a simulated robot's controllers commanded: all joints at home."""
    home = np.tile(profile.vector("home"), (3, 1))
    sent = SentTrajectory(
        stamp_ns=now_ns,
        joint_names=profile.joint_names,
        times_ns=[0, 3_333_333, 6_666_666],
        position=home,
        velocity=np.zeros_like(home),
    )
    return deserialize_message(wire.write_trajectory(sent), JointTrajectory)


def rest(controller: ControllerSpec, profile: RobotProfile, now_ns: int) -> JointTrajectory | Float64MultiArray:
    """Returns a command to stay at home."""
    if controller.type != "joint_trajectory":
        return _commands(controller, profile, now_ns)[0]()
    columns = [profile.joint_names.index(name) for name in controller.joints]
    sent = SentTrajectory(
        stamp_ns=now_ns,
        joint_names=tuple(controller.joints),
        times_ns=[0, 10_000_000],
        position=np.tile(profile.vector("home")[columns], (2, 1)),
        velocity=np.zeros((2, len(columns))),
    )
    return deserialize_message(wire.write_trajectory(sent), JointTrajectory)


def stop_input(spec: StopInput) -> Any:
    """Returns what permits motion."""
    package, *_, name = spec.type.split("/")
    return getattr(import_module(f"{package}.msg"), name)(data=spec.permits[0])


def _commands(controller: ControllerSpec, profile: RobotProfile, now_ns: int) -> list[Maker]:
    if controller.type == "joint_trajectory":
        return [lambda points=points: trajectory(controller, profile, now_ns, points) for points in (1, 2, 30)]
    columns = [profile.joint_names.index(name) for name in controller.joints]
    return [lambda: Float64MultiArray(data=array("d", profile.vector("home")[columns].tolist()))]


def image(camera: str, profile: RobotProfile, now_ns: int) -> ImageMessage:
    """Returns a frame of noise in the camera's size."""
    size = profile.camera(camera)
    pixels = np.random.default_rng(now_ns % 1000).integers(0, 256, (size.height, size.width, 3), dtype=np.uint8)
    return wire.image_message(Image(stamp_ns=now_ns, pixels=pixels), size.frame)


def people(profile: RobotProfile, now_ns: int) -> PoseArray:
    """Returns somebody far away."""
    message = PoseArray(poses=[Pose(position=Point(x=8.0, y=0.0, z=0.5))])
    message.header.stamp, message.header.frame_id = wire.time_message(now_ns), profile.base_frame
    return message


@cache
def _state() -> tuple[str, WorldState]:
    from tendon.robots.profile import load_profile
    from tendon.sim.tabletop.world import World

    scene = sample_scene(0, None)
    made = World(scene, load_profile("panda"))
    state = made.state()
    made.close()
    return scene_label(scene), state


def world(profile: RobotProfile, now_ns: int) -> JointState:
    """Returns the state of a scene on the tabletop."""
    del profile
    return world_state_message(now_ns, *_state())


def filter_inputs(profile: RobotProfile) -> list[FilterInput]:
    """Returns a start, a step with a target, and one without."""
    home, still = profile.vector("home"), np.zeros(len(profile.joint_names))
    return [
        FilterInput(reset=home, target=home, velocity=still, speed=1.0, away=still),
        FilterInput(reset=None, target=None, velocity=None, speed=0.3),
    ]


def permissions(now_ns: int) -> list[Permission]:
    """Returns one of each state."""
    return [
        Permission(state=PermissionState.STANDBY, event=1, reason="waiting"),
        Permission(state=PermissionState.ARMED, event=now_ns, reason="", speed=0.3, policy="1-2"),
        Permission(state=PermissionState.LATCHED, event=now_ns, reason="law", cause=Cause.LAW, speed=0.0),
    ]


def states(now_ns: int) -> list[ControlState | MonitorState | ResponseRequest]:
    """Returns what each node says on safety/state."""
    return [
        *(ControlState(mode=mode, event=1, reason="x", source=Source.HOLD) for mode in Mode),
        ControlState(mode=Mode.RUNNING, event=1, looked_at_ns=2**62, plan_ns=now_ns),
        MonitorState(permission=permissions(now_ns)[1], response=Response.SLOW, source="x", margin=0.5),
        ResponseRequest(
            node="policy_node", level=Level.WARN, text="odd", response=Response.SLOW, scores={"score": 0.5}
        ),
    ]


def statuses() -> list[NodeStatus]:
    """Returns what each node says on diagnostics."""
    meters = {"chunk": MeterReport(rate_hz=10.0, drops=1, latency=LatencyReport(p50_ms=20.0, p99_ms=30.0, max_ms=31.0))}
    common: dict[str, Any] = {"level": Level.OK, "text": "well", "robot": "panda", "meters": meters}
    return [
        NodeStatus(node="camera_node", **common),
        ControlStatus(node="control_node", overruns=3, tracking={"panda_joint1": 0.01}, residual="off", **common),
        MonitorStatus(
            node="safety_monitor",
            silent=("a",),
            found=("b", "c"),
            cameras=("scene",),
            log="x",
            log_lines_lost=0,
            **common,
        ),
        PolicyStatus(node="policy_node", policy="tiny", steer={"speed": 1.0}, target_m=(0.1, 0.2, 0.3), **common),
        SimulationStatus(node="sim_node", scene="put/1", slips=0, done=False, **common),
        MockStatus(node="mock_node", lag_s=0.0, noise=1e-6, effort=0.0, moving=False, **common),
    ]


def foreign_status() -> DiagnosticArray:
    """Returns what some driver says."""
    values = [KeyValue(key=f"temperature {k}", value="40.1 degrees") for k in range(12)]
    return DiagnosticArray(
        status=[DiagnosticStatus(name=f"motor {k}", message="warm", values=values) for k in range(3)]
    )


def requests(kind: Any, parameters: dict[str, Any]) -> list[Maker]:
    """Returns what makes requests of a service, with the parameters of its node.

    Args:
        kind: type of the service.
        parameters: name to value.
    """
    fields = kind.Request.get_fields_and_field_types()
    if "names" in fields:
        return [lambda name=name: kind.Request(names=[name]) for name in parameters]
    if "prefixes" in fields:
        return [lambda: kind.Request(prefixes=["steer"], depth=1), lambda: kind.Request()]
    if "parameters" in fields:
        return [
            lambda name=name, value=value: kind.Request(parameters=[Parameter(name=name, value=_value(value))])
            for name, value in parameters.items()
        ]
    return [lambda: kind.Request()]


def answer(kind: Any, request: Any) -> Any:
    """Returns what a service answers to a request that it can serve.

    Args:
        kind: type of the service.
        request: one.
    """
    return _answers(kind, getattr(request, "names", ["interpolate_from_desired_state"])[0])[0]


def answers(kind: Any) -> list[Maker]:
    """Returns what makes good answers of a service, some of each kind that it has; none for an unknown one."""
    names = ("interpolate_from_desired_state", "interpolation_method", "open_loop_control")
    return [lambda made=made: copy.deepcopy(made) for name in names for made in _answers(kind, name)]


def _answers(kind: Any, name: str) -> list[Any]:
    fields, made = kind.Response.get_fields_and_field_types(), kind.Response
    if "success" in fields:
        return [made(success=True, message="armed"), made(success=False, message="cannot arm: it is stopped")]
    if "ok" in fields:
        said = {"message": "it is active"} if "message" in fields else {}
        return [made(ok=True), made(ok=False, **said)]
    if "results" in fields:
        return [made(results=[SetParametersResult(successful=ok, reason="" if ok else "out")]) for ok in (True, False)]
    if "types" in fields:
        return [made(types=[3]), made()]
    if "values" in fields:
        known = {"interpolate_from_desired_state": True, "interpolation_method": "splines"}
        return [*([made(values=[_value(known[name])])] if name in known else []), made(values=[ParameterValue()])]
    return []


def _value(value: Any) -> ParameterValue:
    if isinstance(value, bool):
        return ParameterValue(type=1, bool_value=value)
    if isinstance(value, int):
        return ParameterValue(type=2, integer_value=value)
    if isinstance(value, float):
        return ParameterValue(type=3, double_value=value)
    return ParameterValue(type=4, string_value=str(value))

"""Who is the robot, of all that take its commands: whoever else does only watches."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from tendon.core.types import SentTrajectory
from tendon.ros2_nodes import wire
from tendon.ros2_nodes.base.message_info import MessageInfo
from tendon.ros2_nodes.monitor.inputs import MonitorInputs

TOPIC = "arm_controller/joint_trajectory"
COMMAND = wire.write_trajectory(
    SentTrajectory(
        stamp_ns=10**9,
        joint_names=("joint",),
        times_ns=[10_000_000],
        position=np.zeros((1, 1)),
        velocity=np.zeros((1, 1)),
    )
)


class Network:
    """What a monitor on hardware is told of the graph, as rclpy tells it."""

    def __init__(self, takers: list[str], measures: list[str], namespace: str) -> None:
        self._takers, self._measures, self._namespace = takers, measures, namespace

    def get_namespace(self) -> str:
        return self._namespace

    def resolve_topic_name(self, topic: str) -> str:
        return f"{self._namespace.rstrip('/')}/{topic}"

    def get_subscriptions_info_by_topic(self, topic: str) -> list[SimpleNamespace]:
        assert topic == self.resolve_topic_name(TOPIC)
        return [self._endpoint(name) for name in self._takers]

    def get_publishers_info_by_topic(self, topic: str) -> list[SimpleNamespace]:
        assert topic == self.resolve_topic_name("joint_states")
        return [self._endpoint(name) for name in self._measures]

    def _endpoint(self, full: str) -> SimpleNamespace:
        namespace, _, name = full.rpartition("/")
        return SimpleNamespace(node_namespace=namespace or "/", node_name=name, endpoint_gid=b"")


def inputs(takers: list[str], measures: list[str] | None = None, namespace: str = "/") -> MonitorInputs:
    made = MonitorInputs.__new__(MonitorInputs)
    made._node, made._robot = Network(takers, measures or [], namespace), ""  # type: ignore[assignment]
    made._topics = {TOPIC: made._node.resolve_topic_name(TOPIC)}
    return made


def is_taken(takers: list[str], measures: list[str] | None = None, namespace: str = "/") -> bool:
    return inputs(takers, measures, namespace)._is_taken(TOPIC)


@pytest.mark.parametrize(
    "name",
    [
        *("rosbag2_recorder", "foxglove_bridge", "plotjuggler", "rqt_gui_py_node_4711", "_ros2cli_33"),
        *("safety_monitor", "control_node", "policy_node", "teleop_node", "recorder_node", "other/arm_controller"),
    ],
)
def test_who_watches_a_robot_that_is_away_is_not_taken_for_it(name: str) -> None:
    assert not is_taken([f"/{name}"])
    assert not is_taken([f"/{name}"], measures=["/joint_state_broadcaster"])
    assert is_taken([f"/{name}", "/arm_controller"])


def test_a_controller_of_ros2_control_is_the_robot_in_its_own_namespace() -> None:
    assert is_taken(["/left/arm_controller"], namespace="/left")
    assert not is_taken(["/right/arm_controller"], namespace="/left")


def test_a_driver_that_says_where_the_robot_is_and_takes_its_commands_is_the_robot() -> None:
    assert is_taken(["/my_driver"], measures=["/my_driver"])
    assert is_taken(["/left/my_driver"], measures=["/left/my_driver"], namespace="/left")


@pytest.mark.parametrize(
    "name", ["/_NODE_NAME_UNKNOWN_", "_CREATED_BY_BARE_DDS_APP_/_CREATED_BY_BARE_DDS_APP_"], ids=["yet", "ever"]
)
def test_one_without_a_name_is_not_the_robot_and_the_refusal_says_what_to_do(name: str) -> None:
    """A recorder whose name had not come was armed for; it hears commands, and no robot does."""
    assert not is_taken([name]), "it may be anybody"
    assert not is_taken([name], measures=[name]), "two without a name need not be one"
    assert is_taken([name, "/arm_controller"])
    watched = inputs([name])
    said = watched._nameless(TOPIC)
    assert f"ros2 topic info -v /{TOPIC}" in said and "RMW_IMPLEMENTATION=rmw_" in said
    assert not inputs(["/rosbag2_recorder"])._nameless(TOPIC)


@pytest.mark.parametrize(("lost", "looks"), [(False, 0), (True, 2)])
def test_a_command_that_comes_again_with_anothers_number_is_looked_into(lost: bool, looks: int) -> None:
    """A second publisher that repeats commands breaks no law; the control node's own copy has the next number.

    A flood of them is looked into once in a turn of the monitor.
    """
    made, now_ns, looked = inputs([]), [10**9], []
    command = wire.read_trajectory(COMMAND)
    made._columns, made._measured = {"arm": [0]}, None
    made._laws = {"arm": SimpleNamespace(last=command, check=lambda *_: None)}  # type: ignore[dict-item]
    made._awake = SimpleNamespace(now_ns=lambda: now_ns[0])  # type: ignore[assignment]
    made._period_ns, made._looked_ns = 10_000_000, 0
    made.arrivals = SimpleNamespace(earliest_ns=lambda *_: 0, lost=lambda *_: lost)  # type: ignore[assignment]

    def look() -> None:
        looked.append(now_ns[0])
        made._looked_ns = now_ns[0]

    made._look = look  # type: ignore[method-assign]
    for step_ns in (0, 1_000_000, 18_000_000, 1_000_000):
        now_ns[0] += step_ns
        made._commanded(SimpleNamespace(name="arm"), COMMAND, MessageInfo(sent_ns=0, received_ns=0, number=7))  # type: ignore[arg-type]
    assert len(looked) == looks

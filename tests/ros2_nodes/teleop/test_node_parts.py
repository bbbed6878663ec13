"""Parts of the teleoperation node that need no graph: what it is started with, and how it leaves."""

from __future__ import annotations

import shlex
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from std_msgs.msg import String

from tendon.commands import teleop
from tendon.core.errors import ConfigError
from tendon.core.modes import Mode, Source
from tendon.core.node_status import ControlStatus, Level
from tendon.graph.description import teleop_process
from tendon.ros2_nodes.teleop.display import Display
from tendon.ros2_nodes.teleop_node import STATE_AGE_NS, TeleopNode
from tendon.safety.reports import ControlState
from tests.teleop.test_panel import HAND


@pytest.mark.parametrize(
    ("leads", "said"), [(Source.TELEOP, [Source.HOLD]), (None, [Source.HOLD]), (Source.POLICY, []), (Source.HOLD, [])]
)
def test_at_its_end_it_takes_the_robot_from_nobody_who_leads_it_by_then(
    leads: Source | None, said: list[Source]
) -> None:
    """Somebody gave the robot back to the policy while the panel stood open: Ctrl-C there must not stop it."""
    state = leads and ControlState(mode=Mode.RUNNING, event=1, margin=1.0, binding="", source=leads)
    published: list[String] = []
    node = SimpleNamespace(
        _session=SimpleNamespace(last=lambda now_ns: None),
        time=SimpleNamespace(now_ns=lambda: 1),
        reports=SimpleNamespace(newest=lambda kind: state),
        _source=SimpleNamespace(publish=published.append),
        _took_over=True,
    )
    TeleopNode.finish(cast(Any, node), lambda: None)
    assert [Source(message.data) for message in published] == said


def test_a_path_with_blanks_arrives_as_it_was_typed() -> None:
    devices, maps = ["gamepad:/dev/input/by id/my pad"], ["/home/a b/it's mine.yaml"]
    told = teleop_process(robot="panda", backend="mock", simulated_time=False, devices=devices, maps=maps).parameters
    node = cast(Any, SimpleNamespace(setting=lambda name, default: told[name]))
    assert TeleopNode._listed(node, "devices") == devices
    assert TeleopNode._listed(node, "maps") == maps
    node.setting = lambda name, default: "'open"
    with pytest.raises(ConfigError, match=r"parameter maps is .*No closing quotation"):
        TeleopNode._listed(node, "maps")
    assert shlex.split("gamepad left_arm=keyboard") == ["gamepad", "left_arm=keyboard"], "plain names stay as they were"


def test_the_node_lives_by_the_time_that_the_control_node_states() -> None:
    """Publishers of /clock were counted before all were discovered: the hand waited for the whole session."""
    for simulated in (True, False):
        said: dict[str, Any] = {"node": "control_node", "level": Level.OK, "text": "", "robot": "panda"}
        status = ControlStatus(**said, overruns=0, tracking={}, simulated_time=simulated)
        operator = SimpleNamespace(
            wait=lambda condition, timeout_s: condition(),
            reports=SimpleNamespace(newest=lambda kind, status=status: status),
            nodes=lambda: {"control_node", "sim_node"},
            finds=lambda name: False,
        )
        process = teleop._process(cast(Any, operator), ["keyboard"], [])
        assert process.parameters["use_sim_time"] is simulated


def test_it_says_why_it_waits() -> None:
    """Not "let go first", when nobody holds anything."""
    time = SimpleNamespace(now_ns=lambda: 0)
    node = cast(Any, SimpleNamespace(time=time, measured=None, _problem="", _measured_ns=1))
    assert TeleopNode.blocked(node) == "waiting for /clock"
    node.time.now_ns = lambda: 2 + STATE_AGE_NS
    assert TeleopNode.blocked(node) == "waiting for joint_states"
    node.measured = np.zeros(8)
    assert TeleopNode.blocked(node) == "joint states are too old"
    node._measured_ns = 2
    assert not TeleopNode.blocked(node)
    hand = SimpleNamespace(state=lambda: replace(HAND, held=True))
    node.blocked = lambda: "joint states are too old"
    shown = Display._hand(cast(Any, SimpleNamespace(_node=node)), cast(Any, hand), None)
    assert shown.state.waits == "joint states are too old" and not shown.state.held

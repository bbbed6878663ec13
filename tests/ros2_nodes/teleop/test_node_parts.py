"""Parts of the teleoperation node that need no graph: what it is started with, and how it leaves."""

from __future__ import annotations

import shlex
from types import SimpleNamespace
from typing import Any, cast

import pytest
from std_msgs.msg import String

from tendon.core.errors import ConfigError
from tendon.core.modes import Mode, Source
from tendon.graph.description import teleop_process
from tendon.ros2_nodes.teleop_node import TeleopNode
from tendon.safety.reports import ControlState


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

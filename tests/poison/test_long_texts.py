"""Messages whose texts fill them: what a node says afterwards, in each tick and each check, is no longer for it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from std_msgs.msg import String

from tendon.core.errors import InvalidDataError
from tendon.core.phrases import TEXT, TEXTS
from tendon.core.types import SentTrajectory
from tendon.graph import topics
from tendon.ros2_nodes import wire
from tendon.ros2_nodes.wire.sizes import LARGEST
from tests.poison import messages
from tests.poison.cases import running
from tests.poison.subjects import wire_bytes

LONG = "\x01" * (LARGEST - 100)


def test_a_word_of_64_kb_for_a_source_costs_the_control_node_nothing_from_then_on(tmp_path: Path) -> None:
    """0.65 of a core for looking it through fifty times a second, until a chunk or a reset came."""
    with running("control_node", tmp_path) as control:
        control.give(topics.CONTROL_SOURCE, String(data=LONG))
        said = control.node._refusal
        assert "must be one of policy, teleop, hold" in said and len(said) <= TEXT
        crowd = messages.people(control.profile, control.now_ns())
        crowd.header.frame_id = LONG[:10_000]
        control.give(messages.PEOPLE, crowd)
        assert "the robot's base_frame" in control.node._refusal and len(control.node._refusal) <= TEXT


def test_a_request_of_a_node_with_a_name_of_120_kb_is_said_in_a_line(tmp_path: Path) -> None:
    """50 a second with other names: gaps of 2.5 s between permissions, and 250 MiB."""
    with running("safety_monitor", tmp_path) as monitor:
        for k in range(50):
            pairs = [KeyValue(key="response", value="?")]
            status = DiagnosticStatus(name=f"{k}{'1 ' * 60_000}", message="x", values=pairs)
            monitor.give(wire.STATE.name, DiagnosticArray(status=[status]))
        monitor.work()
        assert monitor.node._permission.reason.startswith("01 1 1")
        assert len(monitor.node.health()[1]) < TEXTS + TEXT
        assert all(len(each.source) + len(each.reason) <= 2 * TEXT for each in monitor.node._monitor.findings)


def test_a_trajectory_of_a_joint_with_a_name_that_nothing_has_is_refused_unread() -> None:
    row = np.zeros((1, 2))
    sent = SentTrajectory(stamp_ns=1, joint_names=("a", "b" * 4000), times_ns=[0], position=row, velocity=row)
    with pytest.raises(InvalidDataError, match="a name of 4000 characters: at most 256 are read"):
        wire.read_trajectory(wire.write_trajectory(sent))


def test_a_fault_with_a_long_message_is_said_by_its_beginning(tmp_path: Path) -> None:
    with running("control_node", tmp_path) as control:
        control.node.count_fault("a", ValueError(LONG))
        assert len(control.node.fault) < 3 * TEXTS and wire_bytes(String(data=control.node.fault))

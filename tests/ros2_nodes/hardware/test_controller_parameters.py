"""How a trajectory controller of ros2_control joins a new trajectory decides whether the robot is armed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tendon.core.modes import PermissionState
from tendon.core.node_status import Level, MonitorStatus
from tests.ros2_nodes.hardware.cell import Cell

pytestmark = pytest.mark.graph

NAME = "interpolate_from_desired_state"


def test_a_controller_that_leads_in_from_the_measured_position_is_not_armed(tmp_path: Path, messages: Path) -> None:
    """Nor is one, once that is right, whose profile names a manager that is not there."""
    cell = Cell(tmp_path, messages, "--active", "--measured", controller_manager="elsewhere")
    try:
        cell.graph.ready()
        why = f"{cell.controller} leads into each command from the measured position"
        cell.graph.wait(lambda: why in cell.refusal(), "refused")
        assert f"set its parameter {NAME} to true" in cell.refusal()
        cell.set(cell.controller, "open_loop_control", True)  # what releases before 4.22 call it
        cell.graph.wait(lambda: "nobody serves elsewhere/switch_controller" in cell.refusal(), "the next reason")
    finally:
        cell.close()


def test_a_controller_that_cannot_be_asked_is_armed_and_said_to_be_unknown(tmp_path: Path, messages: Path) -> None:
    """It may be another make than joint_trajectory_controller; nobody could ever arm it."""
    cell = Cell(tmp_path, messages, "--active", "--without-parameters")
    try:
        cell.graph.ready()
        refusals: list[str] = []

        def armed() -> bool:
            refusals.append(cell.refusal())
            return not refusals[-1]

        cell.graph.wait(armed, "armed in the end")
        why = f"{cell.controller}: its parameter {NAME} was not read yet"
        assert any(why in said for said in refusals), refusals
        cell.graph.wait(lambda: cell.graph.state() is PermissionState.ARMED, "armed")

        def said() -> bool:
            status = cell.graph.operator.reports.newest(MonitorStatus)
            assert status is not None
            return status.level is Level.WARN and f"{NAME} could not be read" in status.text

        cell.graph.wait(said, "a word of it")
    finally:
        cell.close()

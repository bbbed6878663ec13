"""After a latch the controllers of ros2_control are inactive: nobody's command moves the robot. Real processes."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from trajectory_msgs.msg import JointTrajectory

from tendon.core.causes import Cause
from tendon.core.errors import StoppedError
from tendon.core.modes import PermissionState
from tendon.core.node_status import Level, MonitorStatus
from tendon.core.types import SentTrajectory
from tendon.graph import topics
from tendon.graph.description import EXIT_REFUSED
from tendon.ros2_nodes import wire
from tendon.ros2_nodes.base import qos
from tests.ros2_nodes.hardware.cell import MANAGED, Cell, write_profile
from tests.ros2_nodes.repeating import repeating

pytestmark = pytest.mark.graph

MOVED = 2e-5
"""What an arm with the noise of its stand-in may tremble [rad]."""
AT_REST = 0.05 * 1.0
"""Of the speed limit of its joints, as the profile's `rest_share` says."""


@pytest.fixture(scope="module")
def cell(tmp_path_factory: pytest.TempPathFactory, messages: Path) -> Iterator[Cell]:
    running = Cell(tmp_path_factory.mktemp("cell"), messages, **MANAGED)
    running.graph.ready()
    yield running
    running.close()


def latched_and_inactive(cell: Cell) -> None:
    cell.graph.wait(lambda: cell.graph.state() is PermissionState.LATCHED and not cell.active(), "inactive")


def said(cell: Cell) -> MonitorStatus:
    status = cell.graph.operator.reports.newest(MonitorStatus)
    assert status is not None
    return status


@contextmanager
def rogue(cell: Cell, goes: Callable[[], bool] = lambda: True) -> Iterator[None]:
    """Sends commands that any controller takes, 100 times a second: from how the arm moves, 0.3 rad on and to rest."""
    graph, node = cell.graph, cell.graph.operator.node
    publisher = node.create_publisher(JointTrajectory, topics.commands(cell.profile.controllers[0]), qos.NEWEST)

    def send() -> None:
        if not goes():
            return
        _, position, velocity = graph.states[-1]
        way = np.where(position > 0, -0.3, 0.3)
        sent = SentTrajectory(
            stamp_ns=time.time_ns(),
            joint_names=cell.profile.joint_names,
            times_ns=[1_000_000, 400_000_000],
            position=np.array([position, position + way]),
            velocity=np.array([velocity, np.zeros(len(way))]),
        )
        publisher.publish(wire.write_trajectory(sent))

    try:
        with repeating(send):
            yield
    finally:
        node.destroy_publisher(publisher)


def stands(cell: Cell) -> None:
    """The arm stays where it is for a second and a half."""
    cell.graph.pause(0.2)
    seen = len(cell.graph.states)
    cell.graph.pause(1.5)
    measured = np.array([state[1] for state in cell.graph.states[seen:]])
    assert len(measured) > 50 and np.ptp(measured, axis=0).max() < MOVED


def test_arming_activates_and_a_stop_deactivates_at_its_end(cell: Cell) -> None:
    assert not cell.active()
    cell.graph.set_in_motion()
    assert cell.active()
    cell.graph.hold_still()
    cell.graph.stop()
    latched_and_inactive(cell)
    assert cell.switched()[-1][1] < AT_REST, "the stop was cut"
    cell.graph.check_limits()
    cell.graph.operator.reset()
    stands(cell)
    assert not cell.active()


def test_a_rogue_publisher_that_goes_on_after_the_latch_moves_nothing(cell: Cell) -> None:
    """When somebody makes the controller active again, so that it moves the arm after all, that is undone at once."""
    from controller_manager_msgs.srv import SwitchController

    graph = cell.graph
    graph.set_in_motion()
    with rogue(cell, lambda: graph.state() is PermissionState.LATCHED):
        latched_and_inactive(cell)
        assert graph.cause() in (Cause.SENDER, Cause.LAW), graph.reason()
        stands(cell)
        client = graph.operator.node.create_client(SwitchController, "controller_manager/switch_controller")
        graph.wait(client.service_is_ready, "the manager")
        before = len(cell.switched())
        request = SwitchController.Request(activate_controllers=[cell.controller], strictness=2)
        client.call_async(request)
        graph.wait(lambda: len(cell.switched()) == before + 2, "deactivated once more")
        assert cell.switched()[-1][1] > 0.0, "the rogue's commands move nothing anyway"
        stands(cell)
    with pytest.raises(StoppedError, match="latched because"):
        graph.operator.arm()
    graph.set_in_motion()
    graph.stop()


def test_a_rogue_publisher_at_the_moment_of_the_latch_is_at_its_end_soon(cell: Cell) -> None:
    """It overwrites the stop, so nobody waits until the robot rests."""
    cell.graph.set_in_motion()
    with rogue(cell):
        latched_and_inactive(cell)
        stands(cell)


def test_arming_is_refused_when_the_manager_refuses_or_is_silent(cell: Cell) -> None:
    graph = cell.graph
    graph.hold_still()
    graph.stop()
    latched_and_inactive(cell)
    graph.ready()
    cell.set("controller_manager", "refuses", "activate")
    graph.wait(lambda: f"refused: {cell.controller} was told to refuse" in cell.refusal(), "refused")
    assert graph.state() is PermissionState.STANDBY and not cell.active()
    cell.set("controller_manager", "refuses", "")
    cell.set("controller_manager", "answers", False)

    def armed_while(meanwhile: Callable[[], object]) -> str:
        """Asks to arm, and half a second later something else; a busy machine may make the monitor refuse at once."""
        graph.ready()
        answers: list[str] = []
        asking = threading.Thread(target=lambda: answers.append(cell.refusal()))
        asking.start()
        graph.pause(0.5)
        meanwhile()
        asking.join()
        return answers[0]

    others: list[str] = []
    silent = "cannot arm: controller_manager/switch_controller did not answer within 2 s"
    graph.wait(lambda: silent in armed_while(lambda: others.append(cell.refusal())), "refused as nobody answers")
    assert "another request to arm is under way" in others[-1], "the monitor waits for the manager"
    stopped = "cannot arm: the robot was stopped meanwhile"
    graph.wait(lambda: armed_while(graph.operator.stop) == stopped, "refused because of the stop")
    cell.set("controller_manager", "answers", True)
    graph.arm()
    assert cell.active()
    graph.stop()


def test_a_controller_that_cannot_be_deactivated_is_said_to_be_active(cell: Cell) -> None:
    graph = cell.graph
    graph.arm()
    cell.set("controller_manager", "refuses", "deactivate")
    graph.stop()
    graph.wait(lambda: "controllers may still be active: controller_manager" in said(cell).text, "a word of it")
    assert said(cell).level is Level.ERROR
    cell.set("controller_manager", "refuses", "")
    latched_and_inactive(cell)
    graph.wait(lambda: "may still be active" not in said(cell).text, "no word of it")


def test_the_graph_leaves_inactive_controllers(cell: Cell) -> None:
    """The last test of this graph: it ends it."""
    cell.graph.set_in_motion()
    assert cell.active()
    cell.graph.end()
    assert not cell.active()
    assert cell.switched()[-1][1] < AT_REST, "the stop was cut"


def test_a_profile_whose_manager_has_no_messages_here_is_refused(tmp_path: Path) -> None:
    path = write_profile(tmp_path, **MANAGED)
    command = [sys.executable, "-m", "tendon.ros2_nodes.safety_monitor", "--ros-args", "-p", f"robot:={path}"]
    given: dict[str, Any] = {"capture_output": True, "text": True, "timeout": 60, "check": False}
    done = subprocess.run(command, **given)
    assert done.returncode == EXIT_REFUSED
    assert "names a controller_manager, whose messages are not installed" in done.stderr
    assert "apt install ros-jazzy-controller-manager-msgs" in done.stderr

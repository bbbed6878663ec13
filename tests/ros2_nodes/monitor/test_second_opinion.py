"""A real monitor that believes no controller: every way to send the robot where it must not go, and to say nothing."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tendon.core.causes import Cause
from tendon.robots.digest import profile_digest
from tendon.robots.safety_settings import SafetySettings
from tendon.ros2_nodes.safety_monitor import OTHER_PROFILE
from tests.ros2_nodes.monitor.played import PATIENCE_S, TICK_NS, PlayedGraph
from tests.safety.test_succession import SWING

pytestmark = pytest.mark.graph
MS = 1_000_000
NAME = "scaled_joint_trajectory_controller"


@pytest.fixture
def graph(tmp_path: Path) -> Iterator[PlayedGraph]:
    played = PlayedGraph(tmp_path)
    yield played
    played.close()


def latched(graph: PlayedGraph, ticks: int = 20) -> tuple[Cause | None, str]:
    """Why the robot is stopped within some ticks; `None` when it is not."""
    graph.run(ticks)
    if graph.simulated:  # it reports a little after
        graph.operator.wait(lambda: not graph.armed, 0.2)
    known = graph.permission()
    assert known is not None
    return (None, "") if known.permission.armed else (known.permission.cause, known.permission.reason)


def moving(graph: PlayedGraph) -> None:
    """Arms, and lets the controller hold the robot for a moment."""
    graph.arm()
    graph.run(20)
    assert graph.armed, graph.permission()


def test_a_controller_that_loaded_another_profile_is_not_armed(graph: PlayedGraph) -> None:
    """Whoever edits a profile and starts one of the two again has two robots."""
    graph.loaded = profile_digest(replace(graph.profile, safety=SafetySettings(late_ticks=2)), whole=True)
    deadline_s = time.monotonic() + PATIENCE_S
    while refusal := graph.refusal():
        if OTHER_PROFILE in refusal:
            graph.loaded = profile_digest(graph.profile, whole=True)
            break
        assert time.monotonic() < deadline_s, refusal
        graph.tick()
        graph.through(0.2)
    assert refusal
    graph.arm()


def test_a_first_command_far_from_where_the_robot_stands_stops_it(graph: PlayedGraph) -> None:
    graph.commands = False
    graph.arm()
    graph.command(NAME, graph.now_ns, off=1.0)
    cause, reason = latched(graph)
    assert cause is Cause.LAW and "law of start" in reason and "shoulder_pan_joint starts 1 from where it is" in reason


def test_so_does_a_jump_after_half_a_second_without_commands(graph: PlayedGraph) -> None:
    moving(graph)
    graph.commands = False
    graph.run(50)
    assert graph.armed, graph.permission()
    graph.command(NAME, graph.now_ns, off=0.05)
    cause, reason = latched(graph)
    assert cause is Cause.LAW and "law of agree" in reason


@pytest.mark.parametrize("off_s", [3600, -3600])
def test_so_does_a_stamp_an_hour_off_and_it_locks_nobody_out(graph: PlayedGraph, off_s: int) -> None:
    moving(graph)
    graph.command(NAME, graph.now_ns + off_s * 10**9)
    cause, reason = latched(graph)
    assert cause is Cause.LAW and "law of stamp" in reason
    graph.run(1)
    for _ in range(100):
        graph.tick()
        assert graph.through(PATIENCE_S)
    graph.operator.reset()
    moving(graph)


def test_a_robot_that_does_not_go_where_it_was_commanded_is_stopped_whatever_its_controller_says(
    graph: PlayedGraph,
) -> None:
    moving(graph)
    graph.measured[2] += 0.2
    cause, reason = latched(graph)
    assert cause is Cause.TRACKING and "elbow_joint is 0.200 from what it was commanded, allowed 0.180" in reason


def test_a_controller_that_is_armed_and_not_heard_is_stopped(graph: PlayedGraph) -> None:
    moving(graph)
    graph.commands = False
    cause, reason = latched(graph, 100)
    assert cause is Cause.CONTROLLER and "no command was heard" in reason


def test_nothing_is_armed_before_the_robot_listens(tmp_path: Path) -> None:
    graph = PlayedGraph(tmp_path, connected=False)
    try:
        deadline_s, said = time.monotonic() + PATIENCE_S, ""
        while "nobody on the robot side" not in said or "yet" in said:
            assert time.monotonic() < deadline_s, said
            graph.tick()
            if graph.permission() is not None and graph.through(0.2):
                said = graph.refusal()
        assert f"nobody on the robot side listens to {NAME}/joint_trajectory: mock_node does not" in said
        graph.connect()
        moving(graph)
    finally:
        graph.close()


def swing(graph: PlayedGraph, late_ms: int) -> tuple[Cause | None, str, float]:
    """Sends the commands of a swing in real time, each so long after its stamp; the robot does as it is told.

    Returns:
        Why the monitor stopped it, and how long after its stamp the latest was sent [ms]: a busy machine delays some.
    """
    arm, hand = (each.name for each in graph.profile.controllers)
    graph.commands = False
    first, _ = SWING[0]
    graph.home[:7] = graph.measured[:7] = first.position[0]
    graph.arm()
    begin_ns, latest_ns = graph.now_ns + 5 * TICK_NS, 0
    for k, (sent, measured) in enumerate(SWING[:150]):
        stamp_ns = begin_ns + k * TICK_NS
        graph.measured[:7] = measured
        while graph.now_ns < stamp_ns + late_ms * MS // TICK_NS * TICK_NS:
            graph.tick()
        time.sleep(max(0.0, (stamp_ns + late_ms * MS - time.time_ns()) * 1e-9))
        graph.send(arm, stamp_ns, tuple(sent.times_ns), sent.position, sent.velocity)
        graph.command(hand, stamp_ns)
        latest_ns = max(latest_ns, time.time_ns() - stamp_ns)
        if not graph.armed:
            break
    return *latched(graph), latest_ns / MS


@pytest.mark.parametrize("late_ms", [2, 35])
def test_commands_that_arrive_too_late_for_the_robots_own_spline_stop_it(tmp_path: Path, late_ms: int) -> None:
    for k in range(20):
        (folder := tmp_path / str(k)).mkdir()
        graph = PlayedGraph(folder, robot="panda", simulated=False)
        graph.home = np.array(graph.home)
        try:
            cause, reason, latest_ms = swing(graph, late_ms)
        finally:
            graph.close()
        rightly = cause is Cause.LATE or "the law of stamp" in reason
        expected = cause is None if late_ms < 20 else cause is Cause.LATE
        if not expected and rightly and latest_ms > (20 if late_ms < 20 else 38):  # a busy machine held one up
            continue
        break
    else:
        pytest.fail(f"the machine is too busy: of a swing one command was sent {latest_ms:.0f} ms after its stamp")
    if late_ms < 20:
        assert cause is None, reason
    else:
        assert cause is Cause.LATE and "law of late" in reason and "where the robot plays" in reason

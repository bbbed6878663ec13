"""The mode machine as a state machine: any order of requests, with a robot behind it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tendon.control.mode_machine import ModeMachine
from tendon.core.causes import Cause, Reason
from tendon.core.errors import StoppedError
from tendon.core.modes import Mode
from tests.control.limits_checker import PROFILE, make_chunk
from tests.control.robot_side import MS, Robot
from tests.laws import law_settings

OPERATOR = Reason(Cause.REQUESTED, "operator")
SETTLED_TICKS = 80
"""A robot that was stopped on its way to where it was found, 0.3 rad off, is at rest after 64."""
LEGAL = {
    Mode.STANDBY: {Mode.STANDBY, Mode.ARMED, Mode.STOPPING, Mode.LATCHED},
    Mode.ARMED: {Mode.ARMED, Mode.RUNNING, Mode.STOPPING, Mode.LATCHED},
    Mode.RUNNING: {Mode.RUNNING, Mode.STOPPING, Mode.LATCHED},
    Mode.STOPPING: {Mode.STOPPING, Mode.LATCHED},
    Mode.LATCHED: {Mode.LATCHED, Mode.STANDBY},
}


class Graph(RuleBasedStateMachine):
    """Requests and faults in any order; the model is what a stop, a reset and an arm may do."""

    def __init__(self) -> None:
        super().__init__()
        self.robot = Robot()
        self.mode = Mode.STANDBY
        self.recovered = False

    @rule(ticks=st.integers(1, 40))
    def tick(self, ticks: int) -> None:
        for _ in range(ticks):
            before = self.robot.controller.mode
            tick = self.robot.tick()
            assert tick.mode in LEGAL[before]
            assert tick.command is None or tick.mode not in (Mode.STANDBY, Mode.LATCHED)
            assert tick.command is not None or tick.mode is not Mode.RUNNING
            assert bool(tick.reasons) or tick.mode is not Mode.LATCHED
            if tick.mode is Mode.STANDBY:
                assert not np.any(self.robot.velocities[-1]), "moves in standby"

    @rule(seed=st.integers(0, 99))
    def submit(self, seed: int) -> None:
        rows = PROFILE.vector("home") + np.cumsum(0.05 * np.random.default_rng(seed).standard_normal((16, 8)), axis=0)
        self.robot.controller.submit(make_chunk(rows, self.robot.now_ns), self.robot.now_ns)

    @rule(seed=st.integers(0, 99))
    def recover(self, seed: int) -> None:
        """From anywhere, with every fault gone, stop, reset, arm and a chunk make it run."""
        self.fault(stale=False, joint_off=False)
        self.submit(seed)
        self.stop()
        self.tick(SETTLED_TICKS)
        self.reset()
        self.tick(1)
        self.arm()
        self.tick(31)
        self.submit(seed)
        self.tick(2)
        assert self.robot.controller.mode is Mode.RUNNING
        self.recovered = True

    @rule()
    def reject(self) -> None:
        self.robot.controller.reject("NaN")

    @rule(stale=st.booleans(), joint_off=st.booleans())
    def fault(self, stale: bool, joint_off: bool) -> None:
        self.robot.stale_ns = 80 * MS if stale else 0
        self.robot.offset[1] = 0.3 if joint_off else 0.0

    @rule()
    def stop(self) -> None:
        self.robot.controller.stop(OPERATOR)
        assert self.robot.controller.mode in (Mode.STOPPING, Mode.LATCHED)

    @rule()
    def reset(self) -> None:
        before = self.robot.controller.mode
        try:
            self.robot.controller.reset()
        except StoppedError:
            assert self.robot.controller.mode is before
        else:
            assert before is Mode.LATCHED and self.robot.controller.mode is Mode.STANDBY

    @rule()
    def arm(self) -> None:
        before = self.robot.controller.mode
        try:
            self.robot.controller.arm()
        except StoppedError:
            assert self.robot.controller.mode is before
        else:
            assert before is Mode.STANDBY and self.robot.controller.mode is Mode.ARMED

    @invariant()
    def only_legal_changes(self) -> None:
        # Several ticks may pass in one rule, but nothing leaves a stop except a reset.
        now = self.robot.controller.mode
        if self.mode in (Mode.STOPPING, Mode.LATCHED) and not self.recovered:
            assert now in (Mode.STOPPING, Mode.LATCHED, Mode.STANDBY)
        self.recovered = False
        self.mode = now


TestGraph = Graph.TestCase
TestGraph.settings = law_settings(max_examples=40, stateful_step_count=20)


def test_the_first_reason_of_a_stop_is_kept() -> None:
    machine = ModeMachine()
    machine.stop(OPERATOR)
    machine.stop(Reason(Cause.LATE, "second"))
    assert machine.reason is OPERATOR
    machine.rest()
    machine.stop(Reason(Cause.LATE, "third"))
    assert (machine.mode, machine.reason) == (Mode.LATCHED, OPERATOR)


def test_reset_and_arm_are_refused_while_a_cause_is_there() -> None:
    machine = ModeMachine()
    with pytest.raises(StoppedError, match="arm refused: no joint state"):
        machine.arm([Reason(Cause.STALE_JOINTS, "no joint state")])
    with pytest.raises(StoppedError, match="mode is standby"):
        machine.reset([])
    machine.stop(OPERATOR)
    with pytest.raises(StoppedError, match="not latched"):
        machine.reset([])
    machine.rest()
    with pytest.raises(StoppedError, match="camera lost"):
        machine.reset([Reason(Cause.CAMERA, "camera lost")])
    machine.reset([])
    machine.arm([])
    with pytest.raises(StoppedError, match="arm needs standby, mode is armed"):
        machine.arm([])


def test_after_invalid_chunks_it_can_be_reset_when_none_comes_any_more() -> None:
    """A policy at rest sends no valid chunk either, so waiting for one would lock it for ever."""
    robot = Robot()
    robot.arm()
    for _ in range(3):
        robot.controller.reject("NaN")
        robot.tick()
    for _ in range(5):
        tick = robot.tick()
    assert tick.mode is Mode.LATCHED
    with pytest.raises(StoppedError, match="invalid chunks"):
        robot.controller.reset()
    for _ in range(100):
        robot.tick()
    robot.controller.reset()
    assert robot.controller.mode is Mode.STANDBY


@pytest.mark.parametrize("late_ms", [16, 90, 400])
def test_a_command_that_is_too_late_to_send_is_a_hold_and_a_second_one_latches(late_ms: int) -> None:
    """The robot plays the stop of the command before to its end, and the reference goes on from there."""
    robot = Robot()
    robot.arm()
    for _ in range(40):
        robot.tick()
    rows = PROFILE.vector("home") + np.linspace(0.0, 0.5, 16)[:, None]
    rows[:, -1] = 0.04
    robot.controller.submit(make_chunk(rows, robot.now_ns), robot.now_ns)
    for _ in range(60):
        robot.tick()
    assert np.abs(robot.velocities[-1]).max() > 0.1

    def hold() -> None:
        robot.pass_time(10 * MS)
        robot.controller.tick(robot.now_ns, robot.observe())  # its command is not sent
        robot.controller.abandon(late_ms * MS)
        robot.pass_time(late_ms // 10 * 10 * MS)

    hold()
    held = 0
    while (tick := robot.tick()).command is None:
        assert tick.mode is Mode.RUNNING and "stood still" in tick.reasons[0]
        held += 1
        assert held < 200
    assert held > 5
    assert not robot.velocities[-1].any()
    here = robot.positions[-1]
    assert np.allclose(tick.command.trajectory.position, here, atol=1e-9), (
        "it goes on from where the robot came to rest"
    )
    for _ in range(31):
        robot.tick()
    rows = here + np.linspace(0.0, 0.3, 16)[:, None]
    rows[:, -1] = 0.04
    robot.controller.submit(make_chunk(rows, robot.now_ns), robot.now_ns)
    for _ in range(60):
        assert robot.tick().mode is Mode.RUNNING
    assert np.abs(robot.velocities[-1]).max() > 0.05
    hold()
    for _ in range(100):
        tick = robot.tick()
        assert tick.command is None
    assert tick.mode is Mode.LATCHED and "twice within 10 s" in tick.reasons[0]
    robot.assert_inside()

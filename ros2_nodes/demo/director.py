"""Directs the demo on a running graph: arms the robot, gives the instructions, and judges what came of each.

It only does what a person at the robot could do. Success is what the simulation says of the true state
(`sim/task`: `tendon.sim.tabletop.tasks.is_done`), for the very instruction that was given, several times in a row.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable

import numpy as np

from tendon.core.errors import InvalidDataError, StoppedError, TendonError
from tendon.core.modes import PermissionState
from tendon.core.node_status import Level
from tendon.core.types import Array
from tendon.demo.recording import Attempt, Outcome, Recording
from tendon.demo.status import Status
from tendon.demo.story import Approach, Step, measure_approach
from tendon.graph import topics
from tendon.graph.running.state import POLICY_NODE
from tendon.robots.kinematics import Kinematics
from tendon.robots.profile import RobotProfile
from tendon.ros2_nodes.clients.operator import Operator
from tendon.ros2_nodes.clients.recorder import Recorder
from tendon.ros2_nodes.wire import JointStateReader
from tendon.ros2_nodes.wire.world_state import world_state
from tendon.safety.reports import ControlState

READY_S = 180.0
"""Wall time for the graph to get ready: a busy machine may need minutes to import everything."""

HOLD_CHECKS = 3
LOOK_S = 0.02
SETTLE_S = 0.6
"""From arming to the first instruction: the controller takes no chunk until the robot has settled."""

AFTERWARDS_S = 1.0
NODES = ("sim_node", "camera_node", "control_node", "policy_node", "safety_monitor")


class DemoDirector:
    """Runs a story. `perform` belongs to one thread, `status` and `cancel` may be called from any.

    Args:
        operator: asks for what a person could ask for.
        profile: the robot.
        story: the instructions.
        limit_s: longest time for each of them.
    """

    def __init__(self, operator: Operator, profile: RobotProfile, story: tuple[Step, ...], limit_s: float) -> None:
        self._operator, self._time = operator, operator.time
        self._story = story
        self._limit_s = limit_s
        self._kinematics = Kinematics(profile)
        self._reader = JointStateReader(profile.joint_names)
        self._recorder = Recorder(profile)
        self._cancelled = threading.Event()
        self._attempts: list[Attempt] = []
        self._begun_ns: int | None = None
        self._doing = "starting the graph"
        self._refusal = ""
        self.armed_ns: int | None = None
        self._ended_ns: int | None = None

    def status(self) -> Status:
        """Returns what is going on."""
        begun_ns = self._begun_ns
        return Status(
            story=self._story,
            attempts=tuple(self._attempts),
            running_s=None if begun_ns is None else (self._time.now_ns() - begun_ns) * 1e-9,
            doing=self._doing,
            mode=self._operator.mode(),
            statuses={name: status for name in NODES if (status := self._operator.reports.status(name))},
        )

    def cancel(self) -> None:
        """Makes `perform` end soon, with a `StoppedError`."""
        self._cancelled.set()

    def perform(self) -> None:
        """Runs the story to its end, whether its tasks are done or not.

        Raises:
            StoppedError: the graph did not get ready, or `cancel` was called.
        """
        self._doing = "waiting for cameras, simulation and policy"
        self._await(self._ready, READY_S, self._obstacle)
        self._doing = "arming"
        self._await(self._arm, READY_S, lambda: self._refusal)
        self.armed_ns = self._time.now_ns()
        self._pause(SETTLE_S)
        self._doing = ""
        for step, following in zip(self._story, (*self._story[1:], None), strict=True):
            self._attempts.append(self._attempt(step, following))
            self._begun_ns = None
        self._doing = "stopping"
        self._pause(AFTERWARDS_S)
        self._ended_ns = self._time.now_ns()

    def recording(self) -> Recording:
        """Returns what was seen from arming to now. Call it when the graph has ended.

        Raises:
            StoppedError: the robot was never armed.
        """
        if self.armed_ns is None:
            raise StoppedError("nothing was recorded: the robot was not armed")
        return self._recorder.recording(self._attempts, self.armed_ns, self._ended_ns or self._time.now_ns())

    def close(self) -> None:
        """Stops recording."""
        self._recorder.close()

    def _pause(self, pause_s: float) -> None:
        """Lets some of the graph's time pass, unless `cancel` is called."""
        until_ns = self._time.now_ns() + round(pause_s * 1e9)
        while self._time.now_ns() < until_ns and not self._cancelled.wait(LOOK_S):
            pass

    def _await(self, condition: Callable[[], bool], timeout_s: float, obstacle: Callable[[], str]) -> None:
        deadline = time.monotonic() + timeout_s
        while not condition():
            if self._cancelled.wait(LOOK_S):
                raise StoppedError("the demo was interrupted")
            if time.monotonic() > deadline:
                raise StoppedError(f"the graph is not ready after {timeout_s:.0f} s: {obstacle()}")

    def _ready(self) -> bool:
        return not self._obstacle()

    def _obstacle(self) -> str:
        for name in NODES:
            status = self._operator.reports.status(name)
            if status is None:
                return f"{name} has said nothing yet"
            if name == POLICY_NODE and status.level is Level.ERROR:
                return f"{name}: {status.text}"
        missing = [
            topic for topic in (topics.JOINT_STATES, topics.TASK, topics.WORLD_STATE) if not self._recorder.count(topic)
        ]
        return f"nothing on {', '.join(missing)}" if missing else ""

    def _arm(self) -> bool:
        """Arms as a person would who looks on: nothing has moved yet, so a latch from starting up may be reset."""
        try:
            if self._operator.permission() is PermissionState.LATCHED:
                self._operator.reset(timeout_s=2.0)
            self._operator.arm(timeout_s=2.0)
        except StoppedError as error:
            self._refusal = str(error)
            return False
        return True

    def _attempt(self, step: Step, following: Step | None) -> Attempt:
        begin_ns = self._begun_ns = self._time.now_ns()
        if self._stopped():
            return Attempt(
                instruction=step.instruction,
                begin_ns=begin_ns,
                end_ns=begin_ns,
                outcome=Outcome.NOT_DONE,
                reason="it was not given: the robot had been stopped",
            )
        self._operator.say(step.instruction)
        judge = self._judge_interrupted if step.interrupted and following else self._judge_done
        outcome, reason, approach = judge(step, following, begin_ns + int(self._limit_s * 1e9))
        return Attempt(
            instruction=step.instruction,
            begin_ns=begin_ns,
            end_ns=self._time.now_ns(),
            outcome=outcome,
            reason=reason,
            approach=approach,
        )

    def _judge_done(
        self, step: Step, _following: Step | None, deadline_ns: int
    ) -> tuple[Outcome, str, Approach | None]:
        done, seen = 0, self._recorder.count(topics.TASK)
        while done < HOLD_CHECKS:
            if reason := self._given_up(deadline_ns):
                return Outcome.NOT_DONE, reason, None
            if self._recorder.count(topics.TASK) > seen:
                seen = self._recorder.count(topics.TASK)
                with contextlib.suppress(InvalidDataError):  # somebody else's
                    task = self._recorder.newest_task()
                    done = done + 1 if task.done and task.instruction == step.instruction else 0
        return Outcome.DONE, "", None

    def _judge_interrupted(
        self, step: Step, following: Step | None, deadline_ns: int
    ) -> tuple[Outcome, str, Approach | None]:
        """Waits until the arm is on its way, which is when the next instruction shall come."""
        assert following is not None
        begin_m, approach = None, None
        while approach is None or not approach.on_the_way:
            if reason := self._given_up(deadline_ns):
                return Outcome.NOT_DONE, f"the arm was not seen on its way to the object: {reason}", approach
            with contextlib.suppress(TendonError):  # of a message that is somebody else's
                approach = self._approach(step, following, begin_m)
                begin_m = approach.begin_m
        return Outcome.SWITCHED, "", approach

    def _approach(self, step: Step, following: Step, begin_m: float | None) -> Approach:
        _, position, velocity = self._reader.read(self._recorder.newest(topics.JOINT_STATES))
        tool, _ = self._kinematics.tool_pose(position)
        _, _, state = world_state(self._recorder.newest(topics.WORLD_STATE))
        item, other = (np.array(state.poses[s.task.target][:3]) for s in (step, following))
        tool_velocity: Array = self._kinematics.tool_velocity(position, velocity)
        return measure_approach(tool, tool_velocity, item, other, begin_m)

    def _given_up(self, deadline_ns: int) -> str:
        """Waits a moment; returns why the running step has failed, or nothing.

        Raises:
            StoppedError: `cancel` was called.
        """
        if self._cancelled.wait(LOOK_S):
            raise StoppedError("the demo was interrupted")
        if (state := self._stopped()) is not None:
            return f"the robot was stopped: {state.reason}"
        if self._time.now_ns() < deadline_ns:
            return ""
        policy = self._operator.reports.status(POLICY_NODE)
        error = f"; {POLICY_NODE}: {policy.text}" if policy is not None and policy.level is Level.ERROR else ""
        return f"not within {self._limit_s:g} s{error}"

    def _stopped(self) -> ControlState | None:
        """Returns what the controller says after it was stopped; `None` while it was not."""
        state = self._operator.reports.newest(ControlState)
        return state if state is not None and state.mode.stopped else None

"""What stands in for a robot, simulated or mocked: a loop in a thread of its own, commands when they are due, time.

With `simulated_time` the node publishes `/clock`, a tick of the control loop at a time, when every node of the graph
has done what was due; `speed` is the largest part of real time, 0 for as fast as it goes. Without, it follows the wall
clock.

It takes commands only under the safety monitor's permission (`PermissionGate`), whoever sends them; without one it
plays the stop that it holds, and then does not press on what is in its way (`Easing`).
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from trajectory_msgs.msg import JointTrajectory

from tendon.core.clock import AwakeClock
from tendon.core.errors import ConfigError, TendonError
from tendon.core.node_status import Level
from tendon.core.timekeeper import Timekeeper
from tendon.core.types import Array, Observation, SentTrajectory
from tendon.graph import topics
from tendon.robots.easing import Easing, way_of
from tendon.robots.permission_gate import OWNER, brakes_ns
from tendon.robots.profile import ControllerSpec
from tendon.robots.safety_settings import nanoseconds
from tendon.ros2_nodes import wire
from tendon.ros2_nodes.base import qos
from tendon.ros2_nodes.base.gate import listening_gate
from tendon.ros2_nodes.base.shell import NodeShell
from tendon.ros2_nodes.base.simulated_time import ClockPublisher, KeptClock

FINISH_S = 2.0
LOOK_S, LONGEST_LOOK_S = 5e-4, 4e-3
"""Between two looks for who is through with a time: each is twice as long as the one before, up to the second."""
NOTICED_TICKS = 3
"""A loop that is later than this many control ticks was held up, and so was all that it listens to."""
LET_GO = f"{OWNER} was silent, and the robot was led off what it pressed on: reset and arm"

Accept = Callable[[str, Any, int], None]
"""Gives a controller a command at a time [ns]; a `TendonError` says that it keeps what it had."""


class StandIn(NodeShell):
    """A node that plays a robot. Subclasses say how: `play`, `play_in_real_time` and `moving`.

    Args:
        name: of the node.
        loop: what its loop is called, in diagnostics.

    Raises:
        ConfigError: see `NodeShell`, or `speed` is no part of real time.
    """

    def __init__(self, name: str, loop: str) -> None:
        super().__init__(name, batched=True)
        self._keeper = self._new_time() if self.setting("simulated_time", False) else None
        if self._keeper is not None:
            self.time = KeptClock(self, self._keeper)
        tick_ns = round(wire.SECOND_NS / self.profile.control_hz)
        longest_ns = nanoseconds(self.profile.safety.standstill_s)
        self._awake = AwakeClock(self.time, tick_ns, NOTICED_TICKS * tick_ns, longest_ns)
        # Before a subclass loads its robot and sends joint states: nobody arms a robot whose side does not listen yet.
        self._gate = listening_gate(self, self._awake.now_ns)
        self._easing = Easing(self.profile)
        self._brakes_ns = {each.name: brakes_ns(self.profile, each) for each in self.profile.controllers}
        self._loop = loop
        self.late, self._received = self.meter(loop), self.meter("command")
        self._commands: deque[tuple[int, str, Accept, Any]] = deque(maxlen=64)
        self._refusals: dict[str, str] = {}
        self._trajectories: list[tuple[ControllerSpec, Callable[[str, SentTrajectory, int], None]]] = []
        self.closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name=loop)

    def _new_time(self) -> Timekeeper:
        """Returns simulated time that begins now, at a whole second: later than any that such a node before had."""
        speed = self.setting("speed", 1.0)
        if not 0.0 <= speed < float("inf"):
            raise ConfigError(f"speed:={speed:g} is not allowed: it is a part of real time, 0 for as fast as it goes")
        tick_ns = round(wire.SECOND_NS / self.profile.control_hz)
        return Timekeeper(time.time_ns() // wire.SECOND_NS * wire.SECOND_NS, tick_ns, speed)

    def play(self, before_ns: int, now_ns: int) -> None:
        """Plays the robot from one simulated time to the next. In the loop's thread."""
        raise NotImplementedError

    def play_in_real_time(self) -> None:
        """Plays the robot by the wall clock until `closing`. In the loop's thread."""
        raise NotImplementedError

    @property
    def moving(self) -> bool:
        """Whether a controller commands motion."""
        raise NotImplementedError

    def commanded(self, now_ns: int) -> tuple[Array, Array]:
        """Returns (n,) position and velocity that the controllers command at a time."""
        raise NotImplementedError

    def measured(self, now_ns: int) -> Observation:
        """Returns what the robot measures at a time."""
        raise NotImplementedError

    def start(self) -> None:
        """Starts the loop."""
        self._thread.start()

    def health(self) -> tuple[Level, str]:
        """Returns whether the loop runs, controllers accept what they are sent, and an armed robot takes commands."""
        if not self._thread.is_alive():
            return Level.ERROR, f"{self._loop} has ended"
        if self._keeper is not None and (waiting := self._keeper.waiting()):
            return Level.WARN, f"simulated time waits for {waiting}"
        if refused := "; ".join(f"{who} rejected: {why}" for who, why in sorted(self._refusals.items()) if why):
            return Level.WARN, refused
        if self._gate.problem:
            return Level.WARN, f"takes no commands: {self._gate.problem}"
        return Level.OK, "simulated time" if self._keeper is not None else "real time"

    def pace(self) -> dict[str, Any]:
        """Returns how simulated time goes, as `StandInStatus` has it; nothing in real time."""
        if self._keeper is None:
            return {}
        return {
            "real_time_factor": round(self._keeper.real_time_factor, 2),
            "absent": self._keeper.absent(),
            "commands_lost": self._keeper.lost_commands,
        }

    def take_trajectories(self, controller: ControllerSpec, accept: Callable[[str, SentTrajectory, int], None]) -> None:
        """Subscribes what a joint_trajectory controller takes; `accept` judges it."""
        self._trajectories.append((controller, accept))
        take = partial(self._take_trajectory, controller.name, accept)
        self.create_subscription(JointTrajectory, topics.commands(controller), take, qos.EACH, raw=True)

    def _take_trajectory(self, controller: str, accept: Accept, data: bytes) -> None:
        try:
            trajectory = wire.read_trajectory(data)
        except TendonError as error:
            self.rejected(controller, error)
            return
        self.take(controller, accept, trajectory, trajectory.stamp_ns)

    def take(self, controller: str, accept: Accept, command: Any, stamp_ns: int) -> None:
        """Keeps a command until it is due: at its stamp [ns], at once if that is 0 or in the future."""
        now_ns = self.time.now_ns()
        self._commands.append((min(stamp_ns or now_ns, now_ns), controller, accept, command))
        self._received.add(now_ns - stamp_ns if stamp_ns else float("nan"))
        if self._keeper is not None:
            self._keeper.commanded(stamp_ns or now_ns)

    def obey(self, now_ns: int) -> None:
        """Gives the controllers the commands that are due by a time. In the loop's thread.

        A robot that is late and makes up for it takes each command when it was due, as if it had never been late. What
        comes without permission is dropped.
        """
        self._awake.now_ns()
        self.take_messages()
        while self._commands and self._commands[0][0] <= now_ns:
            _, controller, accept, command = self._commands.popleft()
            if not self._gate.takes(self._brakes_ns[controller]):
                self._received.drop()
                continue
            try:
                accept(controller, command, now_ns)
                self.accepted(controller)
            except TendonError as error:
                self.rejected(controller, error)
        if self._gate.fresh():
            self._easing.begin()
        elif not self._easing.over:
            self._ease(now_ns)

    def _ease(self, now_ns: int) -> None:
        """Leads the robot off what it presses on, when the stop that it holds has ended."""
        position, velocity = self.commanded(now_ns)
        if velocity.any():
            return
        goal = self._easing.look(position, self.measured(now_ns), now_ns)
        if goal is None:
            return
        self._gate.close(LET_GO)
        way = way_of(self.profile, position, goal, now_ns)
        for controller, accept in self._trajectories:
            columns = [self.profile.joint_names.index(name) for name in controller.joints]
            own = replace(
                way, joint_names=controller.joints, position=way.position[:, columns], velocity=way.velocity[:, columns]
            )
            accept(controller.name, own, now_ns)

    def accepted(self, who: str) -> None:
        """Takes note that a controller or the robot took a command."""
        self._refusals[who] = ""

    def rejected(self, who: str, error: TendonError) -> None:
        """Says in the diagnostics why a controller or the robot took nothing, until it takes something again."""
        self._received.drop()
        self._refusals[who] = str(error)

    def _run(self) -> None:
        try:
            if self._keeper is None:
                self.play_in_real_time()
            else:
                self._play_in_simulated_time(self._keeper)
        except Exception as error:  # the top of this thread: the robot is gone, health says so
            self.get_logger().error(f"{self._loop} ended: {type(error).__name__}: {error}")
            raise

    def _play_in_simulated_time(self, keeper: Timekeeper) -> None:
        clock = ClockPublisher(self, keeper)
        while not self.closing.is_set():
            before_ns, now_ns = keeper.now_ns, keeper.advance()
            clock.publish(time.monotonic_ns())  # first, so that no state is ahead of the clock
            self.play(before_ns, now_ns)
            self.late.add()
            look_s = LOOK_S
            while not keeper.wait(look_s) and not self.closing.is_set():
                clock.repeat(time.monotonic_ns())
                self.take_messages()
                look_s = min(2 * look_s, LONGEST_LOOK_S)
            self.beat()

    def finish(self, spin: Callable[[], None]) -> None:
        """Lets the robot play its stop to the end."""
        deadline_ns = self.time.now_ns() + int(FINISH_S * wire.SECOND_NS)
        while self.moving and self.time.now_ns() < deadline_ns:
            spin()

    def close(self) -> None:
        """Ends the loop; a subclass lets go of its robot after that."""
        self.closing.set()
        self.time.close()
        if self._thread.is_alive():
            self._thread.join(1.0)
        super().close()

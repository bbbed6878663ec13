"""Leads the robot by hand: reads input devices 50 times a second and sends what they ask for as chunks.

Subscribes `joint_states`, what the controllers are sent (where the robot will rest is where a press begins), reports
for the panel, and joint states of leader arms; publishes `teleop/action_chunk`, and `control/source` at the first
press. It moves nothing itself: the control node decides whether the deadman is held, and the filter what may be done.
On a terminal it shows a panel.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory

from tendon.control.deadman import hold_silence_ns
from tendon.core.errors import ConfigError, TendonError
from tendon.core.modes import Source
from tendon.core.node_status import Level
from tendon.core.types import Array
from tendon.graph import topics
from tendon.robots.profile import ControllerSpec
from tendon.ros2_nodes import wire
from tendon.ros2_nodes.base import qos
from tendon.ros2_nodes.base.runtime import Urgency, run_node
from tendon.ros2_nodes.base.shell import NodeShell
from tendon.ros2_nodes.clients.reports import Reports
from tendon.ros2_nodes.teleop.display import Display
from tendon.safety.reports import ControlState
from tendon.teleop.devices.leader import LeaderDevice
from tendon.teleop.devices.paired import PairedDevice
from tendon.teleop.motion import ToolMotion
from tendon.teleop.opening import make_hand, parse_devices
from tendon.teleop.session import CYCLE_NS, Session, Wish

TAKE_OVER_NS = 500_000_000
"""Between two requests to be followed, while the control node follows somebody else."""
STATE_AGE_NS = 200_000_000
"""Joint states older than this are none to begin from."""


class TeleopNode(NodeShell):
    """One session of hands, in the executor's thread."""

    def __init__(self) -> None:
        super().__init__("teleop_node")
        devices, maps = (self._listed(name) for name in ("devices", "maps"))
        names = parse_devices(devices, self.profile)
        if len(maps) > len(names):
            raise ConfigError(f"{len(maps)} maps for {len(names)} devices: give one each, in their order")
        files = [Path(text) for text in maps] + [None] * (len(names) - len(maps))
        self.hands = [make_hand(name, self.profile, file) for name, file in zip(names, files, strict=True)]
        for hand in self.hands:
            hand.open()
        self._session = Session(self.hands, hold_silence_ns(self.profile))
        self._reader = wire.JointStateReader(self.profile.joint_names, self.time.now_ns)
        self.measured: Array | None = None
        self._measured_ns = 0
        self._rest: dict[str, tuple[int, Array]] = {}
        self._asked_ns = 0
        self._took_over = False
        self._problem = self._refused = ""
        self._meter = self.meter("chunk")
        self._chunks = self.create_publisher(JointTrajectory, topics.action_chunk(Source.TELEOP), qos.NEWEST)
        self._source = self.create_publisher(String, topics.CONTROL_SOURCE, qos.LATCHED)
        self.create_subscription(JointState, topics.JOINT_STATES, self._measure, qos.STREAM, raw=True)
        for controller in self.profile.controllers:
            if controller.type == "joint_trajectory":
                take = partial(self._command, controller)
                self.create_subscription(JointTrajectory, topics.commands(controller), take, qos.NEWEST, raw=True)
        for hand in self.hands:
            device = hand.device.arm if isinstance(hand.device, PairedDevice) else hand.device
            if isinstance(device, LeaderDevice):
                self._listen(device)
        self.reports = Reports(self)
        self._say_lost_axes()
        self._display = Display(self) if sys.stdout.isatty() else None
        self.every(CYCLE_NS * 1e-9, self._cycle)

    def _listed(self, name: str) -> list[str]:
        """Returns the parts of a parameter, as a shell reads them: a path may have blanks."""
        text = self.setting(name, "")
        try:
            return shlex.split(text)
        except ValueError as error:
            raise ConfigError(f"parameter {name} is {text!r}: {error}") from error

    def _listen(self, device: LeaderDevice) -> None:
        """Follows the joint states of another graph, in its own namespace."""
        place = f"{device.source.partition('@')[2].rstrip('/')}/{topics.JOINT_STATES}"

        def hear(message: JointState) -> None:
            device.hear([str(name) for name in message.name], message.position.tolist())

        self.create_subscription(JointState, place, hear, qos.STREAM)

    def _say_lost_axes(self) -> None:
        for hand in self.hands:
            lost = hand.motion.lost_axes(self.profile.vector("home")) if isinstance(hand.motion, ToolMotion) else ()
            if lost:
                self.get_logger().warning(
                    f"{hand.group} has {len(self.profile.groups[hand.group])} joints: its tool goes to any place, and "
                    f"cannot turn at will about its own axis {', '.join(lost)}; there it turns as the place asks for"
                )

    def start(self) -> None:
        """Shows the panel."""
        if self._display is not None:
            self._display.start()

    def health(self) -> tuple[Level, str]:
        """Returns what each hand does."""
        if why := self.blocked():
            return Level.WARN, why
        if self._refused:
            return Level.ERROR, self._refused
        states = [hand.state() for hand in self.hands]
        text = "; ".join(
            f"{state.group} by {state.device}: {'held' if state.held else state.waits or 'free'}" for state in states
        )
        level = Level.WARN if any(state.waits for state in states) else Level.OK
        return level, "; ".join(filter(None, (text, self._problem)))

    def _measure(self, data: bytes) -> None:
        try:
            self._measured_ns, self.measured, _ = self._reader.read_bytes(data)
        except TendonError as error:
            self._problem = str(error)

    def _command(self, controller: ControllerSpec, data: bytes) -> None:
        command = wire.read_trajectory(data)
        named = command.joint_names == tuple(controller.joints)
        if named and len(command.position) and command.position.shape[1] == len(controller.joints):
            self._rest[controller.name] = command.stamp_ns + command.times_ns[-1], command.position[-1]

    def blocked(self) -> str:
        """Returns why no hand leads the robot, whatever is pressed; empty when one can."""
        now_ns = self.time.now_ns()
        if not now_ns:
            return "waiting for /clock"
        if self.measured is None:
            return self._problem or "waiting for joint_states"
        return "joint states are too old" if now_ns - self._measured_ns > STATE_AGE_NS else ""

    def rest(self) -> Array | None:
        """Returns (n,) where the robot was told to come to rest: what it measures sags, and what it grips is wider."""
        if self.measured is None or self.blocked():
            return None
        rest = np.array(self.measured)
        for controller in self.profile.controllers:
            until_ns, position = self._rest.get(controller.name, (0, None))
            if position is not None and np.isfinite(position).all() and self.time.now_ns() - until_ns < STATE_AGE_NS:
                rest[[self.profile.joint_names.index(name) for name in controller.joints]] = position
        return rest

    def _cycle(self) -> None:
        now_ns, rest = self.time.now_ns(), self.rest()
        self.beat()
        if rest is None:
            return
        try:
            wish, self._refused = self._session.step(now_ns, rest), ""
        except TendonError as error:  # a device that is not what was asked for: nobody holds it
            self._refused, wish = str(error), self._session.last(now_ns)
        if wish is not None:
            self._send(wish)

    def _send(self, wish: Wish) -> None:
        if wish.hold_ns:
            self._take_over(wish.chunk.observation_stamp_ns)
        self._chunks.publish(wire.held_chunk_bytes(wish.chunk, self.profile.joint_names, wish.hold_ns))
        self._meter.add(self.time.now_ns() - wish.chunk.observation_stamp_ns)

    def _take_over(self, now_ns: int) -> None:
        control = self.reports.newest(ControlState)
        if control is not None and control.source is Source.TELEOP and self._took_over:
            return
        if not 0 <= now_ns - self._asked_ns < TAKE_OVER_NS:
            self._asked_ns, self._took_over = now_ns, True
            self._source.publish(String(data=Source.TELEOP.value))

    def finish(self, spin: Callable[[], None]) -> None:
        """Lets go, and leaves the robot to nobody, unless somebody else leads it by now."""
        wish = self._session.last(self.time.now_ns())
        if wish is not None:
            self._send(wish)
        control = self.reports.newest(ControlState)
        if self._took_over and (control is None or control.source is Source.TELEOP):
            self._source.publish(String(data=Source.HOLD.value))
            spin()

    def close(self) -> None:
        """Gives devices and terminal back."""
        if self._display is not None:
            self._display.close()
        self._session.close()
        super().close()


def main() -> int:
    """Runs the node."""
    return run_node(TeleopNode, Urgency.THIRD)


if __name__ == "__main__":
    sys.exit(main())

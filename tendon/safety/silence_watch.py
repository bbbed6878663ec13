"""Whether a controller that says it moves the robot is heard commanding it."""

from __future__ import annotations

from collections.abc import Iterable

from tendon.core.causes import Cause
from tendon.core.modes import Mode
from tendon.robots.profile import RobotProfile
from tendon.robots.safety_settings import nanoseconds
from tendon.safety.response import Finding, Response


class SilenceWatch:
    """Commands of every controller, while the control node is armed or runs.

    After a standstill of the machine it sends nothing until the stop that the robot plays has ended, so silence counts
    from there.

    Args:
        profile: its controllers, and how long they may be silent.
    """

    def __init__(self, profile: RobotProfile) -> None:
        settings = profile.safety
        self._longest_ns = nanoseconds(settings.command_silence_s) + nanoseconds(settings.standstill_settle_s)
        self._due_ns = {controller.name: 0 for controller in profile.controllers}
        self._moving = False

    def reported(self, mode: Mode | None, now_ns: int) -> None:
        """Takes the mode that the control node says it is in; `None` when that cannot be read."""
        moving = mode is not None and mode.moving
        if moving and not self._moving:
            self._due_ns = {name: max(due_ns, now_ns + self._longest_ns) for name, due_ns in self._due_ns.items()}
        self._moving = moving

    def heard(self, controller: str, rest_ns: int, now_ns: int) -> None:
        """Takes note of a command that comes to rest after `rest_ns`."""
        self._due_ns[controller] = now_ns + rest_ns + self._longest_ns

    def findings(self, now_ns: int) -> Iterable[Finding]:
        """Returns a stop for each controller that should have been commanded."""
        if not self._moving:
            return []
        waited_ms = self._longest_ns * 1e-6
        return [
            Finding(
                source=f"command {name}",
                response=Response.STOP,
                cause=Cause.CONTROLLER,
                reason=f"{name}: control_node says that it moves the robot, and no command was heard for "
                f"{waited_ms:.0f} ms after the last one ended",
            )
            for name, due_ns in self._due_ns.items()
            if now_ns > due_ns
        ]

"""The robot side's own check of permission: without one that is fresh and armed, no new command is taken.

The safety monitor can ask the control node to stop, but not whoever else publishes commands. A robot side that takes
nothing without permission plays the stop that it holds, and then holds its place, whoever goes on to command it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from tendon.core.permission import Permission, is_reachable
from tendon.robots.profile import ControllerSpec, RobotProfile
from tendon.robots.safety_settings import SafetySettings, nanoseconds

OWNER = "safety_monitor"
REACTION_TICKS = 10
"""From a permission that ends to the braking of a control node that hears of it: its own tick, and what it has
committed to."""
OUT_OF_REACH = "a permission came with an event that no monitor can have come to, reset and arm"


class PermissionGate:
    """Opens for one arming and closes with it. Any thread.

    Like the control node it follows a *later* event than the first that it heard, never a state: once it has closed,
    for whatever reason, the robot is not where the commands that follow continue from, so only another arming, which
    begins with a gentle way from where the robot stands, opens it again. It looks at the age of a permission when it is
    asked: where no command is refused, nothing was missed.

    Args:
        now_ns: the time in which a permission grows old.
        settings: how old it may become, and how long a robot settles after arming.
        wall_ns: the time that events count on from; `now_ns` may have stood still while it went on.
        rivals: returns who publishes permissions besides the safety monitor; nobody's opens it while there is one.
    """

    def __init__(
        self,
        now_ns: Callable[[], int],
        settings: SafetySettings,
        wall_ns: Callable[[], int],
        rivals: Callable[[], Sequence[str]] = tuple,
    ) -> None:
        self._now_ns, self._wall_ns, self._rivals = now_ns, wall_ns, rivals
        self._fresh_ns = nanoseconds(settings.permission_age_s)
        self._opens_ns = nanoseconds(settings.arm_settle_s) // 4
        self._lock = threading.Lock()
        self._event: int | None = None
        self._later, self._later_ns = 0, 0
        self._heard_ns = 0
        self._open = False
        self._closed_ns: int | None = None
        self._problem = ""

    @property
    def problem(self) -> str:
        """Why it is closed although the robot is said to be armed; empty when it is open, or nobody says so."""
        return self._problem

    def receive(self, permission: Permission) -> None:
        """Takes a permission that has just arrived."""
        with self._lock:
            now_ns = self._now_ns()
            self._heard_ns = now_ns
            if not permission.armed:
                self._close("", now_ns)
            if not is_reachable(permission.event, self._event, self._wall_ns()):
                self._close(_strange(self._rivals()) or OUT_OF_REACH, now_ns)
            elif self._event is None:
                self._event = permission.event
                self._problem = (
                    "the robot was armed before its side listened, reset and arm" if permission.armed else ""
                )
            elif permission.armed and permission.event > self._event:
                self._follow(permission.event, now_ns)
            elif permission.armed and permission.event < self._event:
                self._close("a permission of an earlier arming came, reset and arm", now_ns)

    def _follow(self, event: int, now_ns: int) -> None:
        """Opens for a later arming as long as the robot is told, surely, where it begins: see `Settling`."""
        if event != self._later:
            self._later, self._later_ns = event, now_ns
        if strange := _strange(self._rivals()):
            self._close(strange, now_ns)
        elif now_ns - self._later_ns <= self._opens_ns:
            self._open, self._event, self._problem = True, event, ""

    def check(self, strangers: Sequence[str]) -> None:
        """Closes when somebody else publishes permissions.

        Args:
            strangers: their names.
        """
        with self._lock:
            if strangers and self._open:
                self._close(_strange(strangers), self._now_ns())

    def takes(self, brakes_ns: int = 0) -> bool:
        """Returns whether a command that comes now is taken.

        Args:
            brakes_ns: for how long after closing it is taken all the same: where no stop is on the wire, the robot
                needs the commands of the control node to come to rest. See `brakes_ns`.
        """
        with self._lock:
            now_ns = self._now_ns()
            if self._open and not self._heard_lately(now_ns):
                text = f"{OWNER} was silent for {self._fresh_ns / 1e6:.0f} ms, reset and arm"
                self._close(text, self._heard_ns + self._fresh_ns)
            return self._open or (self._closed_ns is not None and now_ns - self._closed_ns < brakes_ns)

    def fresh(self) -> bool:
        """Returns whether the robot may move.

        Unlike `takes` it does not close where permission is too old: a PC that stands still sends no commands either.
        """
        with self._lock:
            return self._open and self._heard_lately(self._now_ns())

    def close(self, problem: str) -> None:
        """Closes, as the robot leaves the place where the commands that follow continue from."""
        with self._lock:
            self._close(problem, self._now_ns())

    def _heard_lately(self, now_ns: int) -> bool:
        return now_ns - self._heard_ns <= self._fresh_ns

    def _close(self, problem: str, now_ns: int) -> None:
        if self._open:
            self._open, self._closed_ns = False, now_ns
        self._problem = problem


def _strange(names: Sequence[str]) -> str:
    return f"{' and '.join(names)} may publish permissions, which only {OWNER} does" if names else ""


def brakes_ns(profile: RobotProfile, controller: ControllerSpec) -> int:
    """Returns for how long a controller needs commands after permission ended [ns]: 0 where it holds a stop."""
    if controller.type == "joint_trajectory":
        return 0
    columns = [profile.joint_names.index(name) for name in controller.joints]
    speed, braking, jerk = (profile.vector(name)[columns] for name in ("velocity", "acceleration", "jerk"))
    rest_s = float((speed / braking + 2.0 * braking / jerk).max())
    return nanoseconds(rest_s + REACTION_TICKS / profile.control_hz)

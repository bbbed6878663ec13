"""Whether the robot does what it was commanded: the monitor compares what it heard, and believes no controller."""

from __future__ import annotations

from collections import deque

from tendon.core.types import Array, SentTrajectory
from tendon.robots.profile import ControllerSpec, RobotProfile
from tendon.robots.safety_settings import nanoseconds
from tendon.safety import cubics
from tendon.safety.laws import AGREED_PERIODS, COMMITTED_PERIODS, RECENT

REMEMBERED = 64
"""Joint states that wait for the next command."""
DUE_PERIODS = 2
"""So far ahead of a joint state, beyond its age, a single position may be: it is due a period after it was sent."""
NEXT_COMMANDS = 2
"""Commands that are kept beyond those in which a joint state may still be on its way."""


class TrackingWatch:
    """The joints of one controller, those with a tracking tolerance.

    A joint state is compared with the command that the robot played at its stamp, when the next command shows that no
    other one came between: messages of two nodes overtake one another, most of all where a machine stood still. That
    is not always the last but one: a joint state may be on its way for several control periods. What
    is measured after the end of a command was commanded by nobody: the controller sends none while it is not armed, and
    a robot may be led by hand then. Where a command was followed by none in time, the last ones may have been lost on
    their way to the robot, for which the controller waits: it plays the stop of one of them.

    Args:
        profile: the tolerances, and what is added to them.
        controller: whose joints.
    """

    def __init__(self, profile: RobotProfile, controller: ControllerSpec) -> None:
        self._names = controller.joints
        self._columns = [profile.joint_names.index(name) for name in controller.joints]
        self._allowed = profile.safety.tracking_factor * profile.tracking_tolerance[self._columns]
        period_ns = round(1e9 / profile.control_hz)
        self._committed_ns, self._agreed_ns = COMMITTED_PERIODS * period_ns, AGREED_PERIODS * period_ns
        self._measured: deque[tuple[int, Array]] = deque(maxlen=REMEMBERED)
        kept = nanoseconds(profile.safety.joint_state_silence_s) // period_ns + NEXT_COMMANDS
        self._heard: deque[tuple[SentTrajectory, bool]] = deque(maxlen=kept)

    def measured(self, stamp_ns: int, position: Array) -> None:
        """Takes a joint state, (n,) in the profile's order."""
        self._measured.append((stamp_ns, position[self._columns]))

    def commanded(self, command: SentTrajectory, lost: bool) -> str:
        """Takes the newest command; returns how the robot departed from those before it, empty when it did not.

        Args:
            command: its columns in the controller's order.
            lost: whether commands before it have not been heard.
        """
        self._heard.append((command, lost))
        reason = ""
        while self._measured and self._measured[0][0] < command.stamp_ns:
            stamp_ns, position = self._measured.popleft()
            played, gap = self._played_at(stamp_ns)
            if played is None:
                continue
            if gap and stamp_ns > played.stamp_ns + self._committed_ns:
                continue  # what was lost may have led elsewhere
            if stamp_ns > played.stamp_ns + played.times_ns[-1] + self._committed_ns:
                continue
            i, away = self._apart(position, played, stamp_ns)
            if i != cubics.NOWHERE and not reason and not self._plays_another(position, played, stamp_ns):
                allowed = f"allowed {self._allowed[i]:.3f}"
                reason = f"tracking: {self._names[i]} is {away:.3f} from what it was commanded, {allowed}"
        return reason

    def _apart(self, position: Array, played: SentTrajectory, stamp_ns: int) -> tuple[int, float]:
        return cubics.first_apart(position, cubics.sample(played, stamp_ns)[0], self._allowed)

    def _plays_another(self, position: Array, played: SentTrajectory, stamp_ns: int) -> bool:
        """Returns whether nothing followed a command in time, and the robot is where one before it leads."""
        if stamp_ns <= played.stamp_ns + self._agreed_ns:
            return False
        before = [command for command, _ in self._heard if command.stamp_ns < played.stamp_ns][-RECENT:]
        return any(self._apart(position, command, stamp_ns)[0] == cubics.NOWHERE for command in before)

    def _played_at(self, stamp_ns: int) -> tuple[SentTrajectory | None, bool]:
        """Returns the newest command of a time, and whether others may have been lost after it; `None` if forgotten."""
        gap = False
        for command, lost in reversed(self._heard):
            if command.stamp_ns <= stamp_ns:
                return command, gap
            gap = lost
        return None, False


class PositionTracking:
    """The same for a forward_command controller, whose commands are positions without time or stop.

    Each has to be near where the robot was measured last, so that neither the first one nor a later one jumps.

    Args:
        profile: the tolerances, speed limits and what is added to them.
        controller: whose joints.
    """

    def __init__(self, profile: RobotProfile, controller: ControllerSpec) -> None:
        self._names = controller.joints
        self._columns = [profile.joint_names.index(name) for name in controller.joints]
        self._tolerance = profile.safety.tracking_factor * profile.tracking_tolerance[self._columns]
        self._velocity = profile.vector("velocity")[self._columns]
        self._due_s = DUE_PERIODS / profile.control_hz

    def commanded(self, goal: Array, measured: Array, age_s: float) -> str:
        """Returns how far a command is from the robot, empty when it is near.

        Args:
            goal: (k,) positions in the controller's order.
            measured: (n,) newest measured positions, in the profile's order.
            age_s: of those.
        """
        allowed = self._tolerance + self._velocity * (max(0.0, age_s) + self._due_s)
        i, away = cubics.first_apart(goal, measured[self._columns], allowed)
        if i == cubics.NOWHERE:
            return ""
        return f"tracking: {self._names[i]} is commanded {away:.3f} from where it is, allowed {allowed[i]:.3f}"

"""The independent safety monitor: it believes heartbeats and measurements, and can only take permission away.

It owns the latch, and how fast the robot may go: its watches say what they found, and the most restrictive counts.
Its `Permission` is published many times a second; a controller moves only while it holds one that is fresh and armed,
so a dead monitor stops the robot too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from tendon.core.causes import Cause, Reason, texts_of
from tendon.core.errors import StoppedError
from tendon.core.modes import Mode, PermissionState
from tendon.core.permission import Permission
from tendon.core.types import Array
from tendon.robots.profile import RobotProfile
from tendon.robots.rest import PositionRest, Rest
from tendon.robots.safety_settings import nanoseconds
from tendon.safety.response import Finding, GradedResponse, Response, Watch

POLICY_NODE = "policy_node"
BROKEN = (Cause.LAW, Cause.SENDER, Cause.CLOCK)
"""After a stop that was asked for nothing is left to look at, unless one of these follows, or a limit is broken."""
OUTDATED = (
    "the controller follows a permission of a later time than this monitor's: the system clock was set back; end the "
    "graph and start it again"
)


def position_slack(profile: RobotProfile) -> Array:
    """Returns (n,) how far measured positions may pass their limits, rad or m."""
    span = profile.safety.position_slack_share * (profile.vector("upper") - profile.vector("lower"))
    return np.asarray(np.maximum(span, profile.safety.position_slack_min))


class SafetyMonitor:
    """The latch. Times are of one monotonic clock, when a message arrived; called from one thread.

    Args:
        profile: gives the limits of measured positions and velocities, and says when permission is taken away.
        required: names of the nodes whose heartbeat motion needs.
        watched: names of nodes that may fall silent, but whose restart latches too: a policy that starts again
            may have another task in mind, a robot that is not real may stand elsewhere.
        watches: what else is looked at; a finding that calls for a stop latches while armed and refuses arm and reset.
        latched: starts latched for this reason, which a monitor before this one had; `None` starts in standby.
        wall_ns: a clock that nobody on the network sets, which events count on from: after one of a stray `/clock` of
            another day the true one would follow no later. By default the time of what is done.
    """

    def __init__(
        self,
        profile: RobotProfile,
        required: Iterable[str],
        watched: Iterable[str] = (),
        watches: Sequence[Watch] = (),
        latched: Reason | None = None,
        wall_ns: Callable[[], int] | None = None,
    ) -> None:
        self._wall_ns = wall_ns
        settings = self._settings = profile.safety
        self._heartbeat_ns, self._silent_ns, self._joint_state_ns, self._follow_ns, self._fast_ns = map(
            nanoseconds,
            (
                settings.heartbeat_age_s,
                settings.heartbeat_silent_s,
                settings.joint_state_silence_s,
                settings.follow_s,
                settings.velocity_lasts_s,
            ),
        )
        self._names, self._rest, self._stands = profile.joint_names, Rest(profile), PositionRest(profile)
        span = position_slack(profile)
        self._lower, self._upper = profile.vector("lower") - span, profile.vector("upper") + span
        followed = np.isfinite(profile.tracking_tolerance)
        self._fastest = np.where(followed, settings.velocity_factor * profile.vector("velocity"), np.inf)
        self._required = tuple(required)
        self._beats: dict[str, tuple[str, int] | None] = dict.fromkeys((*self._required, *watched))
        self._beaten_ns: dict[str, int] = {}
        self._joints_ns: int | None = None
        self._breach: Reason | None = None
        self._fast_since_ns: int | None = None
        self._still = self._at_rest = False
        self._report: tuple[Mode | None, int, Reason] | None = None
        self._obstacle = ""
        self._watches = tuple(watches)
        self._graded = GradedResponse(settings)
        self._findings: list[Finding] = []
        self._restriction: Finding | None = None
        self._state = PermissionState.STANDBY if latched is None else PermissionState.LATCHED
        self._event, self._since_ns, self._latched = 0, 0, latched

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What the watches had found when the permission was last asked for."""
        return tuple(self._findings)

    @property
    def restriction(self) -> Finding | None:
        """What slows or holds the robot, whether it is armed or not; `None` when nothing does."""
        return self._restriction

    @property
    def at_rest(self) -> bool:
        """Whether no joint was measured to move, by its velocity or by where it was."""
        return self._at_rest

    def beat(self, node: str, instance: str, now_ns: int, clock_ns: int | None = None) -> None:
        """Takes a heartbeat. A new instance of a node latches: it has forgotten what it was doing.

        Args:
            node: whose it is.
            instance: of that node.
            now_ns: when it arrived.
            clock_ns: the same on a clock that never stands still, which tells a restart from two at once (a process
                needs longer than a heartbeat to start); by default `now_ns`.
        """
        if node not in self._beats:
            return
        last, clock_ns = self._beats[node], now_ns if clock_ns is None else clock_ns
        if last is not None and last[0] != instance and self._state is PermissionState.ARMED:
            both = clock_ns - self._beaten_ns[node] <= self._heartbeat_ns
            twice = Reason(Cause.SENDER, f"two of {node} run at once")
            self._latch(twice if both else Reason(Cause.RESTARTED, f"{node} was restarted"))
        self._beats[node], self._beaten_ns[node] = (instance, now_ns), clock_ns

    def measured(self, position: Array, velocity: Array, now_ns: int) -> None:
        """Takes a joint state, (n,) each in the profile's joint order."""
        self._joints_ns = now_ns
        self._still = not self._rest.moving(velocity).any()
        self._at_rest = self._stands.stands(position, now_ns) and self._still
        outside = np.flatnonzero(~((position >= self._lower) & (position <= self._upper)))
        fast = np.flatnonzero(~(np.abs(velocity) <= self._fastest))
        self._breach = None
        if len(outside):
            i = int(outside[0])
            text = f"{self._names[i]} is measured at {position[i]:.4g}, beyond its limits"
            self._breach = Reason(Cause.LIMITS, text)
        elif len(fast):
            i = int(fast[0])
            self._fast_since_ns = now_ns if self._fast_since_ns is None else self._fast_since_ns
            if now_ns - self._fast_since_ns >= self._fast_ns:
                text = f"{self._names[i]} is measured at speed {velocity[i]:.3g}, above its limit"
                self._breach = Reason(Cause.TRACKING, text)
        if not len(fast):
            self._fast_since_ns = None

    def refused(self, text: str, now_ns: int) -> None:
        """Takes a joint state that could not be read, such as one that lacks a joint."""
        self._joints_ns, self._breach = now_ns, Reason(Cause.BAD_JOINTS, text)

    def report(
        self, mode: Mode | None, event: int, reason: str, obstacle: str = "", cause: Cause | None = None
    ) -> None:
        """Takes what a controller says of itself.

        Args:
            mode: its mode; `None` when what it said cannot be read.
            event: of the last permission it followed.
            reason: why it stopped, or did not arm.
            obstacle: why it could not be armed now; empty when it could.
            cause: why it stopped, as a code.
        """
        self._report = (mode, event, Reason(cause or Cause.CONTROLLER, reason))
        self._obstacle = obstacle

    def overdue(self, now_ns: int) -> bool:
        """Returns whether a heartbeat or the joint state that motion needs has come, and is now too old."""
        beats = [self._beats[node] for node in self._required]
        return any(beat and self._old(beat[1], now_ns, self._heartbeat_ns) for beat in beats) or (
            self._joints_ns is not None and self._old(self._joints_ns, now_ns, self._joint_state_ns)
        )

    @staticmethod
    def _old(arrived_ns: int, now_ns: int, limit_ns: int) -> bool:
        return abs(now_ns - arrived_ns) > limit_ns  # ahead of now: the clock went back

    def silent(self, now_ns: int) -> tuple[str, ...]:
        """Returns which of all nodes had a heartbeat and have none now."""
        beats = self._beats.items()
        return tuple(node for node, beat in beats if beat and abs(now_ns - beat[1]) > self._silent_ns)

    def permission(self, now_ns: int) -> Permission:
        """Returns the permission now; anything wrong while armed latches here."""
        causes = self._causes(now_ns)
        if self._state is PermissionState.ARMED:
            causes = causes or self._unfollowed(now_ns)
            if causes:
                self._latch(causes[0])
        elif self._state is PermissionState.STANDBY and self._report is not None:
            mode, event, said = self._report
            if event == self._event and mode is not None and mode.stopped:
                self._latch(_stopped(said))
        elif self._latched is not None and self._latched.cause is Cause.REQUESTED:
            broken = [cause for cause in causes if cause is self._breach or cause.cause in BROKEN]
            self._latched = broken[0] if broken else self._latched
        restriction = self._restriction
        speed = 1.0 if restriction is None else restriction.response.speed(self._settings)
        if self._latched is not None:
            causes, speed = [self._latched], 0.0
        elif not causes and restriction is not None:
            causes = [Reason(restriction.cause, restriction.reason)]
        policy = self._beats.get(POLICY_NODE)
        return Permission(
            state=self._state,
            event=self._event,
            reason=texts_of(causes),
            cause=causes[0].cause if causes else None,
            speed=speed,
            policy=policy[0] if policy else "",
        )

    def stop(self, reason: Reason) -> None:
        """Latches, from any state. The first reason is kept, but for a requested stop's when a fault follows."""
        self._latch(reason)

    def reset(self, now_ns: int) -> None:
        """Releases the latch; nothing moves, `arm` is separate.

        Raises:
            StoppedError: the cause is still present, or the robot has not come to rest.
        """
        if self._state is PermissionState.ARMED:
            raise StoppedError("nothing to reset: the robot is armed and not latched")
        if self._state is PermissionState.STANDBY and self._report and self._report[0] is Mode.STANDBY:
            return  # nothing to release; another event would only make the controller report once more
        causes = [reason.text for reason in self._causes(now_ns)]
        if not causes:
            causes += [f"{node} is silent" for node in self.silent(now_ns) if node in self._required]
        if not self._still:
            causes.append("the robot is not at rest")
        if self._report is not None and self._report[1] > self._next_event(now_ns):
            causes.append(OUTDATED)
        if causes:
            raise StoppedError(f"cannot reset: {'; '.join(causes)}")
        self._enter(PermissionState.STANDBY, now_ns)

    def arm(self, now_ns: int, obstacles: Sequence[str] = ()) -> None:
        """Permits motion.

        Args:
            now_ns: when it was asked for.
            obstacles: what else is in the way now, and is no reason to stop a robot that moves.

        Raises:
            StoppedError: see `check_arming`.
        """
        self.check_arming(now_ns, obstacles)
        if self._state is not PermissionState.ARMED:
            self._enter(PermissionState.ARMED, now_ns)

    def check_arming(self, now_ns: int, obstacles: Sequence[str] = ()) -> None:
        """Checks whether `arm` would permit motion now, or does already.

        Raises:
            StoppedError: latched, something is missing, or the controller is not in standby.
        """
        if self._latched is not None:
            raise StoppedError(f"cannot arm: latched because {self._latched.text}; reset first")
        if self._state is PermissionState.ARMED:
            return
        causes = [reason.text for reason in self._causes(now_ns)]
        if self._restriction is not None and self._restriction.response is Response.HOLD:
            causes.append(self._restriction.reason)
        if self._report is not None and self._report[1] > self._next_event(now_ns):
            causes.append(OUTDATED)
        elif self._report is None or self._report[:2] != (Mode.STANDBY, self._event):
            causes.append("the controller has not reported standby; if it is latched, reset first")
        elif self._obstacle:
            causes.append(f"the controller is not ready: {self._obstacle}")
        if not self._at_rest:
            causes.append("the robot is not at rest")
        causes += obstacles
        if causes:
            raise StoppedError(f"cannot arm: {'; '.join(causes)}")

    def _enter(self, state: PermissionState, now_ns: int) -> None:
        self._state, self._latched, self._since_ns = state, None, now_ns
        self._event = self._next_event(now_ns)

    def _next_event(self, now_ns: int) -> int:
        """Returns an event that is larger than any of a monitor that ran before this one, unless time was set back."""
        return max(self._event + 1, now_ns if self._wall_ns is None else self._wall_ns())

    def _latch(self, reason: Reason) -> None:
        requested = self._latched is not None and self._latched.cause is Cause.REQUESTED
        if self._state is not PermissionState.LATCHED or requested:
            self._state, self._latched = PermissionState.LATCHED, reason

    def _look(self, now_ns: int) -> None:
        self._findings = [finding for watch in self._watches for finding in watch.findings(now_ns)]
        milder = [finding for finding in self._findings if finding.response is not Response.STOP]
        self._restriction = self._graded.update(milder, now_ns)

    def _causes(self, now_ns: int) -> list[Reason]:
        self._look(now_ns)
        causes = []
        for node in self._required:
            beat = self._beats[node]
            if beat is None:
                causes.append(Reason(Cause.HEARTBEAT, f"no heartbeat of {node} yet"))
            elif self._old(beat[1], now_ns, self._heartbeat_ns):
                text = f"no heartbeat of {node} for {self._heartbeat_ns / 1e6:.0f} ms"
                causes.append(Reason(Cause.HEARTBEAT, text))
        if self._joints_ns is None:
            causes.append(Reason(Cause.STALE_JOINTS, "no joint state yet"))
        elif self._old(self._joints_ns, now_ns, self._joint_state_ns):
            text = f"no joint state for {self._joint_state_ns / 1e6:.0f} ms"
            causes.append(Reason(Cause.STALE_JOINTS, text))
        if self._breach:
            causes.append(self._breach)
        stops = (finding for finding in self._findings if finding.response is Response.STOP)
        return causes + [Reason(finding.cause, finding.reason) for finding in stops]

    def _unfollowed(self, now_ns: int) -> list[Reason]:
        """Returns why the controller does not do what it was permitted to."""
        mode, event, said = self._report or (None, 0, Reason(Cause.CONTROLLER, ""))
        if event == self._event and mode is not None and mode.moving:
            return []
        if event == self._event and mode is not None and mode.stopped:
            return [_stopped(said)]
        if now_ns - self._since_ns <= self._follow_ns:
            return []
        is_ = f"{'silent' if mode is None else mode.value}: {said.text or 'no reason'}"
        return [Reason(Cause.CONTROLLER, f"the controller did not arm, it is {is_}")]


def _stopped(said: Reason) -> Reason:
    return Reason(said.cause, f"the controller stopped: {said.text}")

"""The thresholds of the safety monitor and of the modes, in one place: what they are, why, and who may change them.

A profile changes them under its key `safety`. A threshold stands here when it decides whether a robot moves, slows,
holds or stops. What is a fact of the middleware, the length of a memory or the rate of a loop stands beside its code.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from tendon.core.errors import ConfigError
from tendon.robots.bounds import Bounds, bounds


@dataclass(frozen=True, kw_only=True)
class SafetySettings:
    """When a robot is slowed, held or stopped. The defaults are for an arm at 100 Hz on a PC without real time.

    Each field says its meaning first and its reason after that. `bounds_of` gives unit, tightest and loosest value: a
    profile may tighten every field, and loosen those that say "May be loosened". docs/reference/safety-settings.md has
    them as a table.

    Raises:
        ConfigError: a value is out of its bounds, or does not fit another.
    """

    # Ages of what the controller and the monitor live by.
    permission_age_s: float = field(default=0.1, metadata=bounds("s", tightest=0.05, loosest=0.1))
    """Oldest permission of the monitor to move on. It sends one every 20 ms, so five in a row are lost or it is dead;
    that a dead monitor stops the robot within this time and a tick is a claim of docs/concepts/safety.md. A control
    loop that missed so many ticks that the robot's own side may find the permission too old plays its stop to the end
    before it goes on: more than 5 at 100 Hz (ADR 12). A shorter age makes shorter standstills of the machine holds, and
    two of them within `standstill_apart_s` a stop."""
    joint_state_age_s: float = field(default=0.04, metadata=bounds("s", tightest=0.02, loosest=0.1))
    """Oldest joint state that the controller moves on. Four periods at 100 Hz. May be loosened for a bus that is read
    more slowly: a tracking error is then found later by as much. From 0.625 of it on, the controller sends nothing more
    while what was sent before is not known to have come, until the robot rests (ADR 41)."""
    joint_state_silence_s: float = field(default=0.1, metadata=bounds("s", tightest=0.05, loosest=0.2))
    """Time without a joint state after which the monitor stops the robot; one that is stamped so long before it comes
    is none. More than the controller's own limit, so that the controller, which knows more, says it first. May be
    loosened together with that one."""
    heartbeat_age_s: float = field(default=0.1, metadata=bounds("s", tightest=0.05, loosest=0.1))
    """Oldest heartbeat of a node that motion needs. One comes every 20 ms; a machine on which five in a row are late
    is no machine to move a robot with (ADR 4)."""
    heartbeat_silent_s: float = field(default=0.06, metadata=bounds("s", tightest=0.05, loosest=0.06))
    """Age of a heartbeat from which a node is said to be silent, and a reset is refused. Heartbeats are read, and this
    is looked at, every 20 ms, so it is said within 100 ms. Below `heartbeat_age_s`, so that nobody resets what latches
    again at once."""
    follow_s: float = field(default=0.5, metadata=bounds("s", tightest=0.2, loosest=0.5))
    """Time in which a controller must report that it does what it was permitted to. It reports a change at once; the
    rest is for a busy network."""

    # What is measured of the joints.
    state_ahead_s: float = field(default=0.03, metadata=bounds("s", tightest=0.005, loosest=0.03))
    """How far ahead of this machine's clock a joint state, or where people are, may be stamped: what synchronised
    machines differ by, and what `/clock` may come late. One that is further ahead is refused, as the true ones after it
    would look old."""
    rest_share: float = field(default=0.05, metadata=bounds("of the speed limit", tightest=0.01, loosest=0.1))
    """A joint that is measured at no more than this part of its speed limit is at rest. Sensors have noise and an
    offset, and contacts keep a joint trembling. May be loosened for speeds that are computed from coarse encoders."""
    position_slack_share: float = field(default=0.01, metadata=bounds("of the range", tightest=0.001, loosest=0.01))
    """Part of a joint's range by which its measured position may pass a limit. A hand may have moved the arm there, or
    gravity pulls it off: stopping a robot that is a little outside would help nobody."""
    position_slack_min: float = field(default=0.005, metadata=bounds("rad or m", tightest=0.001, loosest=0.01))
    """At least so far may it pass a limit: fingers have a short range and overshoot. May be loosened for soft
    fingers."""
    velocity_factor: float = field(default=1.2, metadata=bounds("speed limits", tightest=1.02, loosest=1.5))
    """Largest measured speed. A fifth is for noise and overshoot. Joints without a tracking tolerance are not judged
    by it: what a gripper touches moves it. May be loosened for speeds that are computed from coarse encoders."""
    velocity_lasts_s: float = field(default=0.05, metadata=bounds("s", tightest=0.02, loosest=0.1))
    """How long a measured speed must be too large. Contacts make single samples jump. May be loosened as the
    factor."""
    frozen_s: float = field(default=0.08, metadata=bounds("s", tightest=0.04, loosest=0.15))
    """How long commands must have gone on while joint states stay equal bit by bit, before these count as frozen. A
    servo sticks for some 70 ms after a rest. May be loosened for a bus that is read more slowly than it is
    published."""
    frozen_share: float = field(default=0.1, metadata=bounds("of the tracking tolerance", tightest=0.02, loosest=0.3))
    """Commanded motion that joint states must show. Much less than the error that stops the robot anyway, much more
    than a step of an encoder. May be loosened for coarse encoders."""
    implied_share: float = field(
        default=0.02, metadata=bounds("of the tracking tolerance", tightest=0.005, loosest=0.1)
    )
    """Motion, implied by the measured velocity itself, that the measured position must show. May be loosened for
    coarse encoders."""

    tracking_factor: float = field(default=1.2, metadata=bounds("tracking tolerances", tightest=1.0, loosest=1.2))
    """How far a joint may be measured from the command that the monitor heard. The controller compares it with the
    tolerance itself; a fifth more is for what the monitor knows less well, and so that the controller says it first."""

    # What the joints bear, where the profile limits that.
    contact_lasts_s: float = field(default=0.02, metadata=bounds("s", tightest=0.005, loosest=0.05))
    """How long a joint may bear more than its `contact_effort` before the controller stops. Two samples at 100 Hz: a
    single one is noise. Time above it adds up and time below takes half as much away, so that a tool that chatters
    counts. May be loosened for a driver whose efforts are noisy."""
    contact_ignored_s: float = field(default=0.15, metadata=bounds("s", tightest=0.12, loosest=0.2))
    """The same, before the monitor stops the robot. Later than the controller, which comes back from the contact. May
    be loosened together with that one."""
    payload_lasts_s: float = field(default=0.5, metadata=bounds("s", tightest=0.1, loosest=2.0))
    """How long a joint may bear more than its `payload_effort` before the robot slows down. Motion takes effort for a
    moment, a payload all the time. May be loosened for heavy arms with low limits."""

    # What is on the wire, and who sends it.
    law_tolerance: float = field(default=1e-3, metadata=bounds("of each limit", tightest=1e-4, loosest=1e-3))
    """What the monitor's laws forgive a command. Not for the wire, which carries every bit of a float64, but for what
    two implementations may understand differently: a period in whole nanoseconds, or a limit on the point or beside
    it."""
    command_age_s: float = field(default=0.1, metadata=bounds("s", tightest=0.05, loosest=0.1))
    """How long before its arrival a command may be stamped; ahead of it, by `state_ahead_s`. As old as a heartbeat may
    be: who sends what is older was held up. Long before that, the monitor computes what the robot would do."""
    command_silence_s: float = field(default=0.5, metadata=bounds("s", tightest=0.2, loosest=0.5))
    """How long after the end of the last command, and `standstill_settle_s`, the monitor waits for another one while
    the controller says that it moves the robot. The robot stands meanwhile, so this may be as long as `follow_s`."""
    breach_s: float = field(default=0.5, metadata=bounds("s", tightest=5.0, loosest=0.5))
    """How long a broken law counts as present: a reset in that time is refused."""
    unnamed_sender_s: float = field(default=0.3, metadata=bounds("s", tightest=0.2, loosest=0.3))
    """How long a publisher may be without a known name. Discovery tells of the topic before the node."""
    doubled_node_s: float = field(default=0.3, metadata=bounds("s", tightest=5.0, loosest=0.3))
    """For so long after two processes of one name were heard in turn they count as running at once. Each beats every
    20 ms, so two that run are heard in turn again long before."""

    # What permits motion from outside, where the profile names such inputs.
    input_unheard_s: float = field(default=1.0, metadata=bounds("s", tightest=0.3, loosest=1.0))
    """How long somebody may publish on the topic of a stop input that was never heard, required or not, before that
    stops the robot. Discovery tells of who publishes before its first message comes."""

    # Cameras that a policy uses. A fault holds the robot.
    camera_missed_periods: float = field(default=2.6, metadata=bounds("periods", tightest=2.0, loosest=10.0))
    """Periods without a frame after which a camera is silent. Free-running cameras lose one now and then, and come a
    little late. Who looks does so every 20 ms, and the robot is to brake within three periods of a camera of 20 Hz. May
    be loosened for cameras that lose more."""
    camera_equal_frames: int = field(default=3, metadata=bounds("frames", tightest=2, loosest=10))
    """Frames that are equal in every byte while the robot moves, from which a camera is frozen. May be loosened for a
    driver that repeats frames."""
    camera_motion: float = field(default=0.015, metadata=bounds("rad", tightest=0.005, loosest=0.05))
    """Motion, summed over the arm's joints, that every camera must show. In the noise-free simulation a wrist camera
    shows 0.0005 rad of any joint, and a fixed one 0.005 where it sees the robot at all; a real camera never sends the
    same picture twice. May be loosened for one that sees little of the robot."""
    camera_black: int = field(default=8, metadata=bounds("grey values", tightest=32, loosest=2))
    """A picture none of whose pixels is above this is black: a lid, or no exposure. May be loosened for a dark
    room."""
    camera_flat: int = field(default=6, metadata=bounds("grey values", tightest=32, loosest=2))
    """A picture whose pixels differ by no more than this shows nothing. May be loosened for a dark room."""
    camera_latch_s: float = field(default=2.0, metadata=bounds("s", tightest=0.2, loosest=10.0))
    """How long a camera's fault holds the robot before it stops it: nobody expects it to go on after that. May be
    loosened, as the robot stands meanwhile."""

    # People, where the profile names their topic.
    people_age_s: float = field(default=0.5, metadata=bounds("s", tightest=0.1, loosest=0.5))
    """Oldest position of people to move on. Who cannot be seen may be anywhere."""

    # What is too slow, and what is done about it.
    latency_slow_s: float = field(default=0.3, metadata=bounds("s", tightest=0.05, loosest=0.6))
    """Age of the observation behind a chunk or a command above which the robot slows down. What moves meanwhile moves
    unseen. May be loosened for a policy on another machine."""
    latency_hold_s: float = field(default=0.7, metadata=bounds("s", tightest=0.05, loosest=1.2))
    """The same, above which it holds: not below `latency_slow_s`. May be loosened together with that one."""
    latency_median_of: int = field(default=3, metadata=bounds("chunks", tightest=1, loosest=3))
    """Chunks whose median age counts. One late chunk is no reason to slow down: the plan before it runs on."""
    latency_fresh_s: float = field(default=1.5, metadata=bounds("s", tightest=5.0, loosest=1.5))
    """How long an age that was measured or reported counts. Nodes report twice a second, so two reports may be
    lost."""
    slow_share: float = field(default=0.3, metadata=bounds("of the speed limits", tightest=0.05, loosest=0.5))
    """Speed that remains when the robot is slowed. Slow enough to see and reach the button, fast enough to finish. May
    be loosened for a robot whose limits are low already."""
    release_s: float = field(default=0.5, metadata=bounds("s", tightest=5.0, loosest=0.5))
    """How long nothing may call for a restriction before it ends, so that the robot does not stutter."""
    request_s: float = field(default=1.0, metadata=bounds("s", tightest=5.0, loosest=1.0))
    """How long a node's own request to slow, hold or stop counts. The policy node repeats it ten times a second."""

    # Who leads the robot by hand.
    hold_silence_s: float = field(default=0.08, metadata=bounds("s", tightest=0.05, loosest=0.08))
    """How old the newest chunk of a hold may be. One comes every 20 ms, so two may be lost. A control loop that is
    slower than 70 Hz waits for less, so that braking begins within 150 ms of the last chunk at any rate: 50 ms at
    50 Hz."""

    # The controller's modes.
    arm_settle_s: float = field(default=0.3, metadata=bounds("s", tightest=2.0, loosest=0.3))
    """Least time from arming until motion starts. Where nobody knows what the robot side holds (the control node has
    just been started, or somebody has moved the arm), it gets as long as its limits ask for the largest way that it may
    have to where its motion starts."""
    held_share: float = field(default=0.1, metadata=bounds("of the tracking tolerance", tightest=0.01, loosest=0.1))
    """How far a joint may be off the point where it is held and still be held there after arming. Gravity pulls it off;
    measured positions would lead it down a little with each arming. What is further off was pushed: the setpoint is led
    to where the joint is."""
    ease_wait_s: float = field(default=0.3, metadata=bounds("s", tightest=0.1, loosest=0.3))
    """From the end of a stop until a robot that follows it has come to rest as well: then the setpoint comes to one
    that something holds off. One that moves after that is led by hand, and is left alone."""
    chunk_ahead_s: float = field(default=1.0, metadata=bounds("s", tightest=0.2, loosest=1.0))
    """How far ahead of now a chunk may begin. One that begins later has a wrong clock, and is not followed."""
    chunk_lasts_s: float = field(default=10.0, metadata=bounds("s", tightest=1.0, loosest=10.0))
    """How long a chunk may last; a longer one is invalid. 100 rows of a policy that answers ten times a second. While a
    policy is silent the robot moves to the end of what it said last, unseen."""
    invalid_chunks: int = field(default=3, metadata=bounds("chunks", tightest=1, loosest=3))
    """Invalid chunks in a row that latch a stop. One may be a policy's slip; three are a policy that is broken."""
    invalid_s: float = field(default=1.0, metadata=bounds("s", tightest=10.0, loosest=1.0))
    """How long after the last of them their cause counts as present: a policy at rest sends no valid one either."""
    late_ticks: int = field(default=5, metadata=bounds("ticks", tightest=1, loosest=5))
    """Late control ticks in a row that are tolerated. A busy machine delays one; more is a machine that cannot keep
    up."""
    command_late_periods: float = field(default=1.5, metadata=bounds("control periods", tightest=0.8, loosest=1.5))
    """How long after its tick a command may be ready and still be sent. It parts from the one before it 2.5 periods
    after its tick at the earliest; the rest is for its way and the robot's own period."""

    # A machine that stands still (ADR 12).
    shortest_tick_s: float = field(default=0.01, metadata=bounds("s", tightest=0.001, loosest=0.01))
    """How long a tick counts at least, where a late command tells that a machine stood still (`command_late_periods`).
    That number is for 100 Hz; a machine's hiccups get no shorter with the period of its loop."""
    standstill_s: float = field(default=2.5, metadata=bounds("s", tightest=0.2, loosest=2.5))
    """Longest standstill that is a hold. A longer one latches: it is no hiccup of a scheduler or a virtual machine."""
    standstill_apart_s: float = field(default=10.0, metadata=bounds("s", tightest=600.0, loosest=10.0))
    """A second standstill within this time latches: a machine that does it again is one to look at."""
    standstill_waking_s: float = field(default=0.5, metadata=bounds("s", tightest=0.02, loosest=0.5))
    """A standstill that begins so soon after another is a part of it, since a machine wakes up in fits. Both together,
    and the time between them, are at most `standstill_s`."""
    standstill_settle_s: float = field(default=0.1, metadata=bounds("s", tightest=0.05, loosest=0.5))
    """From the end of its stop until the robot has to be measured at rest there. May be loosened for an arm that
    swings."""
    standstill_noticed_s: float = field(default=0.1, metadata=bounds("s", tightest=0.05, loosest=0.1))
    """Shortest standstill of its own for which the monitor holds the robot: the age that a heartbeat may have."""
    standstill_count: int = field(default=3, metadata=bounds("standstills", tightest=1, loosest=3))
    """So many of those within `standstill_apart_s` stop the robot: the control loop, which tolerates one, may have
    slept through others."""
    clock_still_s: float = field(default=120.0, metadata=bounds("s", tightest=10.0, loosest=120.0))
    """Wall time that an armed robot's simulated clock may stand still. Longer than a paused debugger or a slow
    renderer needs; a host that sleeps itself does not count."""
    clock_waits_s: float = field(default=0.5, metadata=bounds("s", tightest=0.1, loosest=0.5))
    """Wall time for which simulated time waits for what is under way, before an age latches. Messages of several nodes
    overtake one another where the monitor hardly runs: the clock may be heard before a heartbeat that was sent 100 ms
    (simulated) earlier."""

    def __post_init__(self) -> None:
        for each in fields(self):
            default: Any = each.default
            bounds_of(each.name).check(each.name, getattr(self, each.name), default)
        if self.latency_hold_s < self.latency_slow_s:
            slow, hold = self.latency_slow_s, self.latency_hold_s
            raise ConfigError(
                f"latency_hold_s [s] is {hold!r}, must be at least latency_slow_s, {slow:g}: "
                f"the robot slows before it holds; write latency_slow_s: {hold:g} too"
            )

    @property
    def changed(self) -> dict[str, float]:
        """Name and value of each that is not its default."""
        return {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) != f.default}


_BOUNDS: dict[str, Bounds] = {f.name: f.metadata["bounds"] for f in fields(SafetySettings)}


def bounds_of(name: str) -> Bounds:
    """Returns the bounds of a field of `SafetySettings`."""
    return _BOUNDS[name]


def nanoseconds(seconds: float) -> int:
    """Returns a time in the unit of stamps."""
    return round(seconds * 1e9)

"""Quality of service of every topic, in one place."""

from __future__ import annotations

from rclpy.duration import Duration
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy

from tendon.safety.input_watch import QUEUE

SHORTEST_LIFESPAN_NS = 12_500_000
"""Of commands, however fast the loop: see `lifespan_ns`."""


def _qos(depth: int, *, reliable: bool = True, latched: bool = False) -> QoSProfile:
    """Returns a profile that keeps the last `depth` messages; with `latched`, for who comes later too."""
    return QoSProfile(
        history=HistoryPolicy.KEEP_LAST,
        depth=depth,
        reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
    )


def commands(lifespan_ns: int) -> QoSProfile:
    """Returns that of commands, as NEWEST; but one that is lost is not sent again after so long."""
    profile = _qos(1)
    profile.lifespan = Duration(nanoseconds=lifespan_ns)
    return profile


def lifespan_ns(period_ns: int) -> int:
    """Returns how long a command may be sent again, in a control loop with such a period.

    Longer, and the last one before an outage would come when the robot is on its stop. Shorter, and nobody could be
    asked whether it was acknowledged, which takes 5 ms, when the next is due.
    """
    return max(5 * period_ns // 4, SHORTEST_LIFESPAN_NS)


NEWEST = _qos(1)
"""Permissions, heartbeats, and everything published: only the newest counts, none is lost on the way."""

STREAM = _qos(2, reliable=False)
"""What subscribers of images and joint states ask for: it matches any driver, and a late frame is not resent."""

EACH = _qos(20)
"""Reports of several publishers on one topic: diagnostics, safety/state, heartbeat."""

EACH_OF_STREAM = _qos(20, reliable=False)
"""Subscriptions of what is repeated, such as heartbeats: it matches any driver, no value overwrites the one before, and
nobody has to say that he received it."""

STATES = _qos(100, reliable=False)
"""The control node's subscription of joint states: at 1000 Hz, too, none is dropped while its loop is held up as long
as may be, so that their numbers show what was lost on the way."""

INPUT, INPUT_LATCHED, INPUT_STREAM = _qos(QUEUE), _qos(QUEUE, latched=True), _qos(QUEUE, reliable=False)
"""Subscriptions of stop inputs: of changes, of those from before too, and of what is repeated. As EACH, EACH_LATCHED
and EACH_OF_STREAM, and so deep that a flood that might overwrite a value is noticed."""

RECORDED, RECORDED_IMAGES = _qos(200, reliable=False), _qos(30, reliable=False)
"""Subscriptions of the recorder: what comes while it is held up waits, and no publisher ever waits for it."""

LATCHED = _qos(1, latched=True)
"""Announcements such as the instruction: whoever starts late still hears them (`announcements.py` hears others too)."""

EACH_LATCHED = _qos(20, latched=True)
"""Subscriptions that must hear announcements in the order of EACH: one that keeps the newest only would overtake it."""

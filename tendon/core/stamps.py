"""Times as nanoseconds."""

from __future__ import annotations

from tendon.core.errors import InvalidDataError

SECOND_NS = 1_000_000_000


def nanoseconds_of(second: int, nanosecond: int) -> int:
    """Returns the nanoseconds of a second and a part of it.

    Raises:
        InvalidDataError: the part is a second or more: a ROS time could not say it again.
    """
    if nanosecond >= SECOND_NS:
        raise InvalidDataError(f"a time has {nanosecond} nanoseconds beyond its seconds, must be below {SECOND_NS}")
    return second * SECOND_NS + nanosecond

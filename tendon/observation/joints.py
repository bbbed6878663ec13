"""Joint states by name, in the profile's order: never by position."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tendon.core.errors import InvalidDataError
from tendon.core.phrases import said_briefly
from tendon.core.types import freeze
from tendon.observation.assembly import JointSample
from tendon.observation.messages import stamp_ns


def ordered(
    wanted: Sequence[str], at_ns: int, names: Sequence[str], position: Sequence[float], velocity: Sequence[float]
) -> JointSample:
    """Returns a joint state in another order; joints that are not wanted are left out.

    Raises:
        InvalidDataError: a joint is missing or named twice, or a position or velocity is missing or not finite.
    """
    place = {name: i for i, name in enumerate(names)}
    if missing := [name for name in wanted if name not in place]:
        raise InvalidDataError(f"joint state lacks {', '.join(missing)} (it has: {said_briefly(names) or 'none'})")
    if len(place) != len(names):
        raise InvalidDataError(f"joint state names a joint twice: {said_briefly(names)}")
    order = [place[name] for name in wanted]
    columns = []
    for name, values in (("joint state position", position), ("joint state velocity", velocity)):
        if len(values) != len(names):
            raise InvalidDataError(f"{name} has {len(values)} numbers for {len(names)} joints")
        columns.append(freeze(name, [values[i] for i in order], (len(order),)))  # what others say is nobody's concern
    return JointSample(stamp_ns=at_ns, position=columns[0], velocity=columns[1])


def joint_sample(wanted: Sequence[str], message: Any) -> JointSample:
    """Returns the joint state in a message of type sensor_msgs/JointState; see `ordered`."""
    return ordered(wanted, stamp_ns(message), message.name, message.position, message.velocity)

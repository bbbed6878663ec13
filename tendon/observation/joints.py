"""Joint states by name, in the profile's order: never by position."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tendon.core.errors import InvalidDataError
from tendon.core.phrases import said_briefly
from tendon.core.types import Array, freeze
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
    return JointSample(
        stamp_ns=at_ns,
        position=columns_of("joint state position", position, len(names), order),
        velocity=columns_of("joint state velocity", velocity, len(names), order),
    )


def columns_of(name: str, values: Sequence[float], count: int, order: Sequence[int] | npt.NDArray[np.intp]) -> Array:
    """Returns the numbers (k,) of wanted joints; what others say, a passive joint's NaN too, is nobody's concern.

    Args:
        name: of the field, for errors.
        values: one for each joint of the message, if it is right.
        count: joints of the message.
        order: k places of wanted joints among them.

    Raises:
        InvalidDataError: a value is missing, or one of a wanted joint not finite.
    """
    if len(values) != count:
        raise InvalidDataError(f"{name} has {len(values)} numbers for {count} joints")
    return freeze(name, np.asarray(values)[order], (len(order),))


def joint_sample(wanted: Sequence[str], message: Any) -> JointSample:
    """Returns the joint state in a message of type sensor_msgs/JointState; see `ordered`."""
    return ordered(wanted, stamp_ns(message), message.name, message.position, message.velocity)

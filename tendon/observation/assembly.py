"""Frames and joint states that were picked, as one observation; and the digest by which two are the same."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tendon.core.errors import InvalidDataError
from tendon.core.types import Array, Image, Observation

DIGITS = 32
"""Hexadecimal digits of a digest: 128 bits of SHA-256."""


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class JointSample:
    """A joint state in the profile's order.

    Attributes:
        stamp_ns: of it.
        position: (n,) rad or m.
        velocity: (n,) rad/s or m/s.
    """

    stamp_ns: int
    position: Array
    velocity: Array


@dataclass(frozen=True, kw_only=True)
class Sources:
    """Which messages an observation is made of, by their stamps: from the same ones it is the same, bit for bit.

    Attributes:
        stamp_ns: of the observation.
        images: camera to exposure.
        joints: stamps of the joint state before, and of that after it where one is used.
    """

    stamp_ns: int
    images: Mapping[str, int]
    joints: tuple[int, ...]


def exposed(image: Image, late_ns: int) -> Image:
    """Returns a frame whose stamp is its exposure, of one that was stamped so much later."""
    return Image(stamp_ns=image.stamp_ns - late_ns, pixels=image.pixels) if late_ns else image


def assemble(images: Mapping[str, Image], states: Sequence[JointSample], instruction: str) -> Observation:
    """Returns the observation of some frames and joint states, at the earliest exposure.

    Args:
        images: camera to frame; without any the observation is that of the first state.
        states: the last one until then, and perhaps the first one after it. Between two, position and velocity are
            linear; after one alone, its velocity lasts.
        instruction: the task in words.

    Raises:
        InvalidDataError: there is no state, or the states do not lie around the exposure.
    """
    if not 1 <= len(states) <= 2:
        raise InvalidDataError(f"an observation has {len(states)} joint states, must be 1 or 2")
    before = states[0]
    stamp_ns = min((image.stamp_ns for image in images.values()), default=before.stamp_ns)
    if before.stamp_ns > stamp_ns or (len(states) == 2 and states[1].stamp_ns <= stamp_ns):
        raise InvalidDataError(
            f"joint states at {[s.stamp_ns for s in states]} ns do not lie around the exposure at {stamp_ns} ns"
        )
    position, velocity = before.position, before.velocity
    if len(states) == 2:
        share = (stamp_ns - before.stamp_ns) / (states[1].stamp_ns - before.stamp_ns)
        position = np.asarray((1.0 - share) * position + share * states[1].position)
        velocity = np.asarray((1.0 - share) * velocity + share * states[1].velocity)
    elif stamp_ns > before.stamp_ns:
        position = np.asarray(position + (stamp_ns - before.stamp_ns) * 1e-9 * velocity)
    return Observation(
        stamp_ns=stamp_ns, joint_position=position, joint_velocity=velocity, images=images, instruction=instruction
    )


def digest(observation: Observation) -> str:
    """Returns what two observations have in common if, and only if, they are the same bit for bit."""
    found = hashlib.sha256()
    found.update(observation.stamp_ns.to_bytes(8, "little", signed=True))
    found.update(
        observation.joint_position.astype("<f8").tobytes() + observation.joint_velocity.astype("<f8").tobytes()
    )
    for name, image in sorted(observation.images.items()):
        found.update(f"{name}\0{image.stamp_ns}\0{image.pixels.shape}\0".encode())
        found.update(np.ascontiguousarray(image.pixels).data)
    found.update(observation.instruction.encode())
    return found.hexdigest()[:DIGITS]

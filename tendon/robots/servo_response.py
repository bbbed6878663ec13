"""How the servos of one very robot follow what they are sent, as `tendon align` finds it: simulators move by it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import yaml

from tendon.core.checks import closest
from tendon.core.config import build
from tendon.core.errors import ConfigError, MismatchError
from tendon.core.fields import Range, check_fields
from tendon.core.files import replace_file
from tendon.core.types import Array
from tendon.core.yaml_text import parse_yaml

FORMAT = 1
MAX_DELAY_S, MAX_SETTLING_S = 0.25, 0.5
SLOW = 0.02
"""Speed around which friction changes sides, rad/s or m/s: a joint that stands has none of it."""


@dataclass(frozen=True, kw_only=True)
class JointResponse:
    """Where a joint is that is sent to c(t).

    With q the low pass of c(t - delay), v and a its speed and acceleration, and g what gravity exerts on the joint
    there (N m or N), it is at q + lead v + inertia a - friction tanh(v / `SLOW`) + compliance g + offset. For a servo
    of a stiffness k, friction is that of the joint / k, inertia that of the joint / -k, and compliance -1 / k.

    Attributes:
        delay_s: from the command until anything happens.
        settling_s: time constant of the low pass, in which two thirds of a step are done.
        lead_s: what feed-forward makes up for.
        inertia_s2: see above.
        friction: rad or m.
        compliance: rad / (N m) or m / N.
        offset: rad or m.
    """

    delay_s: Annotated[float, Range(least=0, most=MAX_DELAY_S, unit="s")] = 0.0
    settling_s: Annotated[float, Range(least=0, most=MAX_SETTLING_S, unit="s")] = 0.0
    lead_s: Annotated[float, Range(least=-1, most=1, unit="s")] = 0.0
    inertia_s2: Annotated[float, Range(least=-0.2, most=0.2, unit="s^2")] = 0.0
    friction: Annotated[float, Range(least=-0.2, most=0.2)] = 0.0
    compliance: Annotated[float, Range(least=-0.1, most=0.1)] = 0.0
    offset: Annotated[float, Range(least=-0.2, most=0.2)] = 0.0

    def __post_init__(self) -> None:
        check_fields(self, "response")

    @property
    def lag_s(self) -> float:
        """How late it is in slow motion [s]: all that slow motion tells of delay, time constant and feed-forward."""
        return self.delay_s + self.settling_s - self.lead_s


TERMS = tuple(each.name for each in fields(JointResponse) if each.name not in ("delay_s", "settling_s"))
"""What is linear, in the order of `terms_of`."""


def terms_of(velocity: Array, acceleration: Array, gravity: Array) -> Array:
    """Returns (..., 5) what the terms of a joint are multiplied with, for motion and load of any equal shape."""
    return np.stack([velocity, acceleration, -np.tanh(velocity / SLOW), gravity, np.ones_like(velocity)], axis=-1)


def step_share(settling_s: Array, period_s: float) -> Array:
    """Returns which part of the way to its input a low pass goes in a period; all of it where it has no time."""
    settling_s = np.asarray(settling_s, dtype=np.float64)
    return -np.expm1(-period_s / np.maximum(settling_s, 1e-9))


class ServoResponse:
    """The responses of all joints of a robot.

    Args:
        joints: (n,) in the profile's order.

    Attributes:
        delay_s, settling_s: (n,) [s].
        terms: (n, 5), see `TERMS`.
    """

    def __init__(self, joints: Sequence[JointResponse]) -> None:
        self.joints = tuple(joints)
        self.delay_s: Array = np.array([each.delay_s for each in joints])
        self.settling_s: Array = np.array([each.settling_s for each in joints])
        self.terms: Array = np.array([[getattr(each, name) for name in TERMS] for each in joints])

    def away(self, velocity: Array, acceleration: Array, gravity: Array) -> Array:
        """Returns (..., n) how far the joints are from the low pass of where they were sent, for (..., n) of each."""
        return np.asarray((terms_of(velocity, acceleration, gravity) * self.terms).sum(axis=-1))


def read_response(file: Path, robot: str, names: Sequence[str]) -> ServoResponse:
    """Returns the response in a file; joints that it does not name go where they are sent.

    Args:
        file: that `tendon align` wrote.
        robot: name of the profile.
        names: of its joints.

    Raises:
        ConfigError: it cannot be read, is of another format, names an unknown joint, or a value is out of range.
        MismatchError: it is of another robot.
    """
    where = f"response {file}"
    try:
        values = parse_yaml(file.read_bytes(), where)
    except OSError as error:
        raise ConfigError(f"{where} cannot be read: {error.strerror}; run `tendon align` again") from error
    if not isinstance(values, Mapping) or values.get("format") != FORMAT:
        raise ConfigError(f"{where} is no mapping with `format: {FORMAT}`; run `tendon align` again")
    if values.get("robot") != robot:
        raise MismatchError(f"{where} is of robot {values.get('robot')}, the profile is {robot}")
    joints: Any = values.get("joints", {})
    if not isinstance(joints, Mapping):
        raise ConfigError(f"{where} joints is {joints!r}, must be a mapping of each joint to its response")
    if unknown := [str(name) for name in joints if name not in names]:
        raise ConfigError(f"{where} joints names {unknown[0]}{closest(unknown[0], tuple(names))}")
    return ServoResponse([build(JointResponse, f"{where} joints {name}", joints.get(name, {})) for name in names])


def write_response(response: ServoResponse, file: Path, robot: str, names: Sequence[str]) -> None:
    """Writes what `read_response` reads.

    Raises:
        ConfigError: it cannot be written; what was there stays.
    """
    values = {"format": FORMAT, "robot": robot, "joints": dict(zip(names, map(asdict, response.joints), strict=True))}
    text = "# How this robot's servos follow, made by `tendon align`; see docs/how-to/simulation.md.\n"
    try:
        replace_file(file, (text + yaml.safe_dump(values, sort_keys=False)).encode())
    except OSError as error:
        raise ConfigError(f"cannot write {file}: {error.strerror}; name another file") from error

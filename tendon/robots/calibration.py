"""The calibration that a profile names: a YAML file, known by the digest of its values.

What is in it is `tendon.calibration`'s; here is what a robot takes from it: its zeros (kinematics, and
thereby the filter, count them), its latencies, and from where its cameras see.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from tendon.core.checks import check_count, check_number, closest
from tendon.core.config import build
from tendon.core.errors import ConfigError, IntegrityError, MismatchError
from tendon.core.yaml_text import parse_yaml
from tendon.robots.camera_view import CameraView

FORMAT = 1
"""Of the files that `tendon calibrate` writes, under `format`; a file without it is refused, and never no zeros."""
ANEW = "take `calibration` out of the profile and calibrate again"
MAX_ZERO = 0.35
"""Of a joint, rad or m: an arm that is further off is not calibrated but assembled wrongly."""
MAX_LATENCY_S = 0.3
"""Of a camera or a command: what is later is no robot to control, but two clocks that differ."""


def calibration_digest(file: Path) -> str:
    """Returns the SHA-256 of what a calibration says, in hexadecimal digits.

    Order of keys, comments and how a number is written (`100`, `100.0`, `1.0e+2`) make no difference.

    Raises:
        ConfigError: it cannot be read, is no YAML mapping, or holds what is no text, finite number, date, list or map.
    """
    return values_digest(read_calibration(file), f"calibration {file}")


def read_calibration(file: Path) -> Mapping[str, Any]:
    """Returns the values of a calibration.

    Raises:
        ConfigError: it cannot be read, or is no YAML mapping.
    """
    try:
        values = parse_yaml(file.read_bytes(), f"calibration {file}")
    except OSError as error:
        raise ConfigError(f"calibration {file} cannot be read: {error.strerror}; calibrate again") from error
    if not isinstance(values, Mapping) or not values:
        raise ConfigError(f"calibration {file} must hold a mapping, got {type(values).__name__}; calibrate again")
    return values


def values_digest(values: Mapping[str, Any], where: str) -> str:
    """Returns the SHA-256 of values, see `calibration_digest`."""
    text = json.dumps(_canonical(values, where), sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def check_made(values: Mapping[str, Any], where: str) -> None:
    """Checks that values are of `tendon calibrate`, of a format that this version reads, and as they were written.

    Raises:
        ConfigError: they are of another format.
        IntegrityError: they were changed after they were written.
    """
    said = values.get("format")
    if said != FORMAT or isinstance(said, bool):
        raise ConfigError(f"{where} format is {said!r}, this Tendon reads {FORMAT}: {ANEW}")
    if values_digest({key: value for key, value in values.items() if key != "sha256"}, where) != values.get("sha256"):
        raise IntegrityError(f"{where} was changed after it was written: take the backup beside it, or {ANEW}")


def check_calibration(file: Path, robot: str, names: Sequence[str]) -> None:
    """Checks that all of a calibration can be read, see `joint_zeros`, `read_latencies` and `read_cameras`."""
    joint_zeros(file, robot, names)
    read_latencies(file, robot)
    read_cameras(file, robot)


def joint_zeros(file: Path, robot: str, names: Sequence[str]) -> list[float]:
    """Returns how much larger each joint is said to be than it is, rad or m: 0 where the calibration says nothing.

    Args:
        file: of the calibration.
        robot: name of its profile.
        names: of the joints.

    Raises:
        ConfigError: it cannot be read, is of another format, names an unknown joint, or a zero is no number within
            `MAX_ZERO`.
        MismatchError: it is of another robot.
        IntegrityError: it was changed after it was written.
    """
    values, where = read_calibration(file), f"calibration {file}"
    _check_own(values, where, robot)
    joints = values.get("joints", {})
    if not isinstance(joints, Mapping):
        raise ConfigError(f"{where} joints is {joints!r}, must be a mapping; calibrate again")
    zeros = dict.fromkeys(names, 0.0)
    for joint, said in joints.items():
        if joint not in zeros:
            raise ConfigError(f"{where} joints names {joint}{closest(str(joint), tuple(names))}")
        if not isinstance(said, Mapping):
            raise ConfigError(f"{where} joints {joint} is {said!r}, must be a mapping with its zero; calibrate again")
        check_number(f"{where} joints {joint} zero", said.get("zero"), least=-MAX_ZERO, most=MAX_ZERO)
        zeros[joint] = float(said["zero"])
    return list(zeros.values())


@dataclass(frozen=True, kw_only=True)
class Latencies:
    """How late a robot is, as its calibration has it [s]; what was not measured is 0.

    Attributes:
        cameras: by name: how much later than the exposure a picture is stamped.
        command: from the time of a command to the motion.
    """

    cameras: Mapping[str, float] = field(default_factory=dict)
    command: float = 0.0


def read_latencies(file: Path, robot: str) -> Latencies:
    """Returns what a calibration says of latencies.

    Raises:
        ConfigError: it cannot be read, is of another format, or a latency is no number within `MAX_LATENCY_S`.
        MismatchError: it is of another robot.
        IntegrityError: it was changed after it was written.
    """
    values, where = read_calibration(file), f"calibration {file}"
    _check_own(values, where, robot)
    cameras = _cameras(values, where)
    found = {name: each["latency_s"] for name, each in cameras.items() if each.get("latency_s") is not None}
    command = values.get("command_latency_s", 0.0)
    for name, value in found.items():
        check_number(f"{where} cameras {name} latency_s", value, least=-MAX_LATENCY_S, most=MAX_LATENCY_S)
    check_number(f"{where} command_latency_s", command, least=0, most=MAX_LATENCY_S)
    return Latencies(cameras=found, command=float(command))


@dataclass(frozen=True, kw_only=True)
class CalibratedCamera:
    """A camera as a calibration found it, and the size of the pictures that told [px]."""

    view: CameraView
    width: int
    height: int

    def seen_in(self, width: int, height: int) -> CameraView | None:
        """Returns its view in pictures of a size [px]; `None` where those have another shape: no lens is known."""
        return self.view.resized(self.width, self.height, width, height)


def read_cameras(file: Path, robot: str) -> dict[str, CalibratedCamera]:
    """Returns the cameras of a calibration by name.

    Raises:
        ConfigError: it cannot be read, is of another format, or what it says of a camera is no view.
        MismatchError: it is of another robot.
        IntegrityError: it was changed after it was written.
    """
    values, where = read_calibration(file), f"calibration {file}"
    _check_own(values, where, robot)
    found = {}
    for name, each in _cameras(values, where).items():
        place = each.get("place")
        said = (
            {key: place.get(key) for key in ("link", "translation", "rotation")} if isinstance(place, Mapping) else {}
        )
        said |= {key: each[key] for key in ("focal", "centre", "lens", "distortion") if key in each}
        sizes = [each.get(key) for key in ("width", "height")]
        for size in sizes:
            check_count(f"{where} cameras {name} size", size)
        width, height = map(int, sizes)  # type: ignore[arg-type]
        view = build(CameraView, f"{where} cameras {name}", said)
        found[name] = CalibratedCamera(view=view, width=width, height=height)
    return found


def _cameras(values: Mapping[str, Any], where: str) -> dict[str, Mapping[str, Any]]:
    cameras = values.get("cameras", {})
    if not isinstance(cameras, Mapping) or not all(isinstance(each, Mapping) for each in cameras.values()):
        raise ConfigError(f"{where} cameras is {cameras!r}, must be a mapping of mappings; calibrate again")
    return {str(name): each for name, each in cameras.items()}


def _check_own(values: Mapping[str, Any], where: str, robot: str) -> None:
    check_made(values, where)
    if values.get("robot") != robot:
        raise MismatchError(
            f"{where} is of robot {values.get('robot')}, the profile is {robot}: name the calibration of this robot"
        )


def _canonical(value: Any, where: str) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _canonical(item, f"{where} {key}") for key, item in value.items()}
    if isinstance(value, list):
        return [_canonical(item, f"{where}[{k}]") for k, item in enumerate(value)]
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, date):  # a datetime too
        return value.isoformat()
    if isinstance(value, int | float) and math.isfinite(value):
        return float(value)
    raise ConfigError(f"{where} is {value!r}, must be text, a finite number, a date, a list or a mapping: {ANEW}")

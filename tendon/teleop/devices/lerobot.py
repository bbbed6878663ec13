"""Any LeRobot `Teleoperator` as a device: its joints by name, in radians and shares of the gripper's way."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tendon.core.checks import closest
from tendon.core.errors import ConfigError, MissingDependencyError, TendonError
from tendon.core.yaml_text import parse_yaml
from tendon.teleop.device import DeviceLostError, Reading

ENDING = ".pos"
GRIPPER = "gripper"
"""LeRobot's name of the gripper, whose position is 0 (closed) to 100 (open); every other one is in degrees."""
DEGREES = "use_degrees"


class LeRobotDevice:
    """Joints by LeRobot's names without ".pos" [rad]; `gripper` from 0, closed, to 1, open.

    `get_action` of LeRobot's arms asks a bus and takes a few milliseconds.

    Args:
        name: what it is, for a person.
        make: makes the `Teleoperator`; see `make_teleoperator`.
    """

    def __init__(self, name: str, make: Callable[[], Any]) -> None:
        self._name, self._make = name, make
        self._teleoperator: Any = None

    @property
    def name(self) -> str:
        """See `Device`."""
        return f"LeRobot {self._name}"

    def open(self) -> None:
        """See `Device`."""
        self.close()
        teleoperator = self._make()
        names = [name for name in teleoperator.action_features if not name.endswith(ENDING)]
        if names or not teleoperator.action_features:
            raise ConfigError(
                f"{self.name} gives {', '.join(names) or 'nothing'}: only arms, whose actions are joint positions such "
                f"as shoulder_pan{ENDING}, can be followed"
            )
        grippers = [name for name in teleoperator.action_features if name.removesuffix(ENDING).endswith(f"_{GRIPPER}")]
        if grippers:
            raise ConfigError(
                f"{self.name} gives {', '.join(grippers)}: name one arm for each hand, not several at once"
            )
        try:
            teleoperator.connect(calibrate=False)  # which would ask on this terminal, and write to the motors
            calibrated = teleoperator.is_calibrated
        except Exception as error:  # each of LeRobot's devices has errors of its own
            raise DeviceLostError(f"{self.name} cannot be reached: {error}") from error
        self._teleoperator = teleoperator
        if not calibrated:
            self.close()
            raise ConfigError(
                f"{self.name} is not calibrated, or otherwise than its file says: run `lerobot-calibrate`"
            )

    def read(self) -> Reading:
        """See `Device`."""
        if self._teleoperator is None:
            raise DeviceLostError(f"{self.name} is not open")
        try:
            action = self._teleoperator.get_action()
            joints = {name.removesuffix(ENDING): float(value) for name, value in action.items()}
        except Exception as error:  # likewise
            self.close()
            raise DeviceLostError(f"{self.name} is lost: {error}") from error
        if not all(map(math.isfinite, joints.values())):
            raise DeviceLostError(f"{self.name} says {joints}: every position must be finite")
        return Reading(
            joints={name: value / 100 if name == GRIPPER else math.radians(value) for name, value in joints.items()}
        )

    def close(self) -> None:
        """See `Device`."""
        teleoperator, self._teleoperator = self._teleoperator, None
        if teleoperator is not None:
            try:
                teleoperator.disconnect()
            except Exception:  # it is gone already, and LeRobot says so with any error
                return


def make_teleoperator(file: Path) -> Any:
    """Returns the LeRobot `Teleoperator` that a YAML file describes: `type: so101_leader`, `port: ...`, `id: ...`.

    Raises:
        ConfigError: the file does not say a teleoperator that LeRobot has, or one that does not give degrees.
        MissingDependencyError: LeRobot is not installed.
    """
    if not file.is_file():
        raise ConfigError(
            f"there is no file {file}: write `type: so101_leader`, `port: /dev/ttyACM0`, `id: NAME` to it"
        )
    values = parse_yaml(file.read_bytes(), str(file))
    if not isinstance(values, dict) or not isinstance(values.get("type"), str):
        raise ConfigError(f"{file} must hold a mapping with `type`, such as so101_leader")
    try:
        from lerobot.teleoperators.config import TeleoperatorConfig
        from lerobot.teleoperators.utils import make_teleoperator_from_config
    except ImportError as error:
        raise MissingDependencyError(
            f"LeRobot is not installed ({error}): pip install -r requirements-lerobot.txt"
        ) from error
    kinds = TeleoperatorConfig.get_known_choices()
    wanted = values.pop("type")
    if wanted not in kinds:
        raise ConfigError(f"{file}: LeRobot has no teleoperator {wanted}{closest(wanted, tuple(kinds))}")
    kind = kinds[wanted]
    fields = {field.name for field in dataclasses.fields(kind)}
    if DEGREES not in fields:
        able = [name for name, each in kinds.items() if DEGREES in {field.name for field in dataclasses.fields(each)}]
        raise ConfigError(
            f"{file}: {wanted} has no `{DEGREES}`, so its positions may be shares of a range; one of {', '.join(able)}"
        )
    if values.setdefault(DEGREES, True) is not True:
        raise ConfigError(f"{file}: {DEGREES} is {values[DEGREES]}: leave it out, positions are read as degrees")
    try:
        return make_teleoperator_from_config(kind(**values))
    except TendonError:
        raise
    except Exception as error:  # LeRobot's own, and TypeError for a field that it does not have
        raise ConfigError(f"{file}: LeRobot does not make a {wanted} of this: {error}") from error

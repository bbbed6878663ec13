"""What a policy sees and answers, as the user says it, for servers that do not describe themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from tendon.core.checks import check_choice, check_count, check_text
from tendon.core.config import build
from tendon.core.errors import ConfigError, InvalidDataError, MismatchError
from tendon.core.types import Array, Observation
from tendon.policies.adapter.adapter import ROW_ADAPTERS
from tendon.policies.adapter.state_vector import StateVector
from tendon.policies.remote.link import RemoteAnswer, read_rows
from tendon.policies.remote.openpi.nested_keys import check_nested
from tendon.policies.spec.components import CONSTANT
from tendon.policies.spec.fields import check_unique, sequence
from tendon.policies.spec.manifest import CameraInput
from tendon.policies.spec.prefix import Prefix
from tendon.policies.spec.spaces import ActionSpace, StateItem
from tendon.robots.profile import RobotProfile

LAYOUTS = ("hwc", "chw")
"""Orders of an image's axes: height, width and channels, or channels first."""
MAX_EXCESS = 1.0
"""Ranges of a joint that an answer may be outside of it; degrees taken for radians are further off."""

Pixels = npt.NDArray[np.uint8]


@dataclass(frozen=True, kw_only=True)
class ImageKey:
    """An image that the policy sees.

    Attributes:
        camera: of the robot.
        key: what the server calls it.
        width: of the image that is sent [px]: the camera's is scaled and padded with black. 0 sends it as it is.
        height: likewise.
        layout: one of `LAYOUTS`.
    """

    camera: str
    key: str
    width: int = 0
    height: int = 0
    layout: str = "hwc"

    def __post_init__(self) -> None:
        check_text("cameras camera", self.camera)
        check_text("cameras key", self.key)
        for name in ("width", "height"):
            check_count(f"cameras {self.camera} {name}", getattr(self, name), least=0)
        if bool(self.width) != bool(self.height):
            raise ConfigError(f"cameras {self.camera}: width and height belong together")
        check_choice(f"cameras {self.camera} layout", self.layout, LAYOUTS)


@dataclass(frozen=True, kw_only=True)
class Contract:
    """What a policy sees and answers; the words for state and action are those of a bundle.

    Attributes:
        name: of the policy.
        robot: name of the profile it was trained for.
        cameras: images it sees.
        state: the server's keys to the parts of that vector.
        action: the meaning, size and timing of an answer; numbers are as the server sends them, not normalised.
        answer: the server's keys to how many numbers of a row each holds, in the order of the action's components.
        instruction: the server's key for the words.
        nested_keys: a `/` in a key leads into a map: `images/cam_high` is `cam_high` of map `images`.
    """

    name: str
    robot: str
    cameras: tuple[ImageKey, ...]
    state: Mapping[str, tuple[StateItem, ...]]
    action: ActionSpace
    answer: Mapping[str, int]
    instruction: str = "prompt"
    nested_keys: bool = False

    def __post_init__(self) -> None:
        for name in ("name", "robot", "instruction"):
            check_text(name, getattr(self, name))
        check_unique("cameras key", tuple(image.key for image in self.cameras))
        check_unique("cameras camera", tuple(image.camera for image in self.cameras))
        check_choice("nested_keys", self.nested_keys, (True, False))
        if self.nested_keys:
            check_nested((*(image.key for image in self.cameras), *self.state, self.instruction))
            check_nested(tuple(self.answer))


def parse_contract(raw: Any) -> Contract:
    """Builds a contract from the mapping under `policy`.

    Raises:
        ConfigError: an unknown key (with the closest known one), a missing key, or a wrong value.
    """
    if not isinstance(raw, Mapping):
        raise ConfigError(f"policy must be a mapping, got {type(raw).__name__}")
    values = dict(raw)
    values["cameras"] = tuple(
        build(ImageKey, f"policy cameras[{i}]", item)
        for i, item in enumerate(sequence("cameras", values.get("cameras")))
    )
    values["state"] = _state(values.get("state"))
    sizes = values.get("answer")
    if not isinstance(sizes, Mapping) or not sizes:
        raise ConfigError("policy answer must say how many numbers each key holds, such as {actions: 8}")
    for key, count in sizes.items():
        check_text("answer key", key)
        check_count(f"answer {key}", count)
    total = sum(sizes.values())
    action = values.get("action")
    if not isinstance(action, Mapping):
        raise ConfigError("policy action is missing: it says what the numbers of an answer mean")
    plain = {"mean": (0.0,) * total, "std": (1.0,) * total}
    if given := sorted(set(plain) & set(action)):
        raise ConfigError(f"policy action has {', '.join(given)}: the server answers numbers that are not normalised")
    values["action"] = build(ActionSpace, "policy action", {**action, **plain})
    return build(Contract, "policy", values)


def _state(raw: Any) -> dict[str, tuple[StateItem, ...]]:
    if not isinstance(raw, Mapping) or not raw:
        raise ConfigError("policy state must say which parts each of the server's keys has")
    state = {}
    for key, items in raw.items():
        check_text("state key", key)
        state[key] = tuple(
            build(StateItem, f"policy state {key}[{i}]", item) for i, item in enumerate(sequence(f"state {key}", items))
        )
        if not state[key]:
            raise ConfigError(f"policy state {key} is empty")
    return state


class Translator:
    """Sets a contract against a robot. One thread.

    Raises:
        MismatchError: the policy is for another robot, or a camera, joint or unit does not fit.
    """

    def __init__(self, contract: Contract, profile: RobotProfile) -> None:
        where = f"policy {contract.name}"
        if contract.robot != profile.name:
            raise MismatchError(f"{where} is for robot {contract.robot}, the profile is {profile.name}")
        self._contract = contract
        self.cameras: tuple[CameraInput, ...] = tuple(_camera(where, image, profile) for image in contract.cameras)
        self._state = {
            key: StateVector(f"{where}: {key}", items, np.zeros(sum(item.size for item in items)), profile)
            for key, items in contract.state.items()
        }
        self._rows = ROW_ADAPTERS[contract.action.space](where, contract.action, profile)
        named = [component.joint for component in contract.action.joints if component.unit != CONSTANT]
        self._joints = [profile.joints[profile.joint_names.index(name)] for name in named]

    def images(self, observation: Observation) -> dict[str, Pixels]:
        """Returns (height, width, 3) RGB, or (3, height, width) where the layout says so, by the server's keys."""
        fitted = {
            image: fit(observation.images[image.camera].pixels, image.height, image.width)
            for image in self._contract.cameras
        }
        return {
            image.key: pixels if image.layout == "hwc" else pixels.transpose(2, 0, 1)
            for image, pixels in fitted.items()
        }

    def state(self, observation: Observation) -> dict[str, npt.NDArray[np.float32]]:
        """Returns (S,) by the server's keys, in the policy's units."""
        return {
            key: vector.read(observation.joint_position, observation.joint_velocity).astype(np.float32)
            for key, vector in self._state.items()
        }

    def answer(
        self, parts: Mapping[Any, Any], observation: Observation, given: Array, frozen: int, server_ns: int | None
    ) -> RemoteAnswer:
        """Returns an answer in the robot's words, faded in from the running plan.

        Args:
            parts: what the server sent: (T, numbers) by its keys.
            observation: that was sent.
            given: (k, n) rows of the running plan from the answer's first row on.
            frozen: leading rows of it that are not to change.
            server_ns: how long the server says that it took.

        Raises:
            InvalidDataError: a key is missing, or an array has another size or is not finite.
        """
        action = self._contract.action
        numbers = np.concatenate(
            [read_rows(parts, key, (action.rows, count)) for key, count in self._contract.answer.items()], axis=1
        )
        origin = observation.joint_position
        self._check_units(self._rows.targets(numbers, origin))
        solved = self._rows.to_joints(numbers, origin, origin, observation.stamp_ns)
        return RemoteAnswer(
            actions=Prefix(rows=given, frozen=frozen).blend(solved.actions),
            server_ns=server_ns,
            clamped_rows=tuple(k for k in solved.clamped if k >= frozen),
            held_rows=tuple(k for k in solved.held if k >= frozen),
        )

    def _check_units(self, targets: Array) -> None:
        """Refuses joints (T, K) so far outside their range that the numbers must be of another unit."""
        if not self._contract.action.space.startswith("joint"):
            return
        for joint, wanted in zip(self._joints, targets.T, strict=True):
            span = joint.upper - joint.lower
            worst = wanted[np.argmax(np.abs(wanted - (joint.lower + joint.upper) / 2.0))]
            if not joint.lower - MAX_EXCESS * span <= worst <= joint.upper + MAX_EXCESS * span:
                raise InvalidDataError(
                    f"policy {self._contract.name} wants {joint.name} at {worst:.4g}, its range is [{joint.lower:.4g}, "
                    f"{joint.upper:.4g}]: are unit, sign and zero in action joints those of the policy?"
                )


def fit(pixels: Pixels, height: int, width: int) -> Pixels:
    """Returns an image scaled into (height, width) without distortion, black around it; 0, 0 leaves it as it is.

    As openpi's `image_tools.resize_with_pad`, up to how pixels are averaged.
    """
    if (height, width) in ((0, 0), pixels.shape[:2]):
        return pixels
    ratio = max(pixels.shape[1] / width, pixels.shape[0] / height)
    size = max(int(pixels.shape[1] / ratio), 1), max(int(pixels.shape[0] / ratio), 1)
    small = cv2.resize(pixels, size, interpolation=cv2.INTER_AREA if ratio > 1.0 else cv2.INTER_LINEAR)
    fitted = np.zeros((height, width, 3), np.uint8)
    top, left = (height - size[1]) // 2, (width - size[0]) // 2
    fitted[top : top + size[1], left : left + size[0]] = small
    return fitted


def _camera(where: str, image: ImageKey, profile: RobotProfile) -> CameraInput:
    try:
        found = profile.camera(image.camera)
    except ConfigError as error:
        raise MismatchError(f"{where} needs camera {image.camera}: {error}") from error
    return CameraInput(name=found.name, width=found.width, height=found.height)

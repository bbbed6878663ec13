"""From an openpi request to a local policy and back. What a request may hold is in `keys`."""

from __future__ import annotations

import difflib
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tendon.core.errors import ConfigError, InvalidDataError
from tendon.core.profile import RobotProfile
from tendon.core.protocols import Policy
from tendon.core.types import ActionChunk, Image, Observation
from tendon.policies.manifest import CameraInput, Manifest, manifest_mapping
from tendon.policies.matching import robot_digests
from tendon.policies.remote import jpeg, keys

BESIDE_IMAGES = 1 << 18
"""Bytes of a request that are no pixels."""


class Service:
    """Answers requests with a policy. One thread.

    Args:
        policy: local.
        manifest: of it.
        profile: the robot it is set up for.
        steer: sets one of the policy's steering inputs.

    Raises:
        ConfigError: the policy is told its past, which a request has no place for.
    """

    def __init__(
        self, policy: Policy, manifest: Manifest, profile: RobotProfile, steer: Callable[[str, float], None]
    ) -> None:
        if manifest.history > 1:
            raise ConfigError(
                f"bundle {manifest.name} sees {manifest.history} observations at once: it cannot be served, run it "
                "on the robot"
            )
        self._policy, self._manifest, self._profile, self._steer = policy, manifest, profile, steer
        self._defaults = {each.name: each.default for each in manifest.steering}
        self._cameras = {keys.IMAGE_PREFIX + camera.name: camera for camera in manifest.cameras}
        self._needed = {keys.JOINT_POSITION, keys.PROMPT, *self._cameras}
        if sees_velocity(manifest):
            self._needed.add(keys.JOINT_VELOCITY)
        self._known = self._needed | {keys.JOINT_VELOCITY, keys.STAMP, keys.PREFIX, keys.FROZEN, keys.STEERING}

    @property
    def metadata(self) -> dict[str, Any]:
        """What a client is told on connect: the manifest, without the record of its training, and what comes beside."""
        digests = robot_digests(self._profile)
        return {
            keys.META_VERSION: keys.VERSION,
            keys.META_MANIFEST: manifest_mapping(replace(self._manifest, training={}, files={})),
            keys.META_PREFIX_ROWS: self._policy.prefix_rows,
            keys.META_OVERLAP_ROWS: self._policy.overlap_rows,
            keys.META_ROBOT: {part: digests[part] for part in keys.SHARED_PARTS},
        }

    @property
    def largest(self) -> int:
        """Bytes that a request has at most."""
        return BESIDE_IMAGES + sum(3 * camera.width * camera.height for camera in self._manifest.cameras)

    def answer(self, request: Mapping[Any, Any]) -> dict[Any, Any]:
        """Returns the chunk for a request: `actions` (T, n) in the profile's joint order, rad or m.

        Raises:
            InvalidDataError: a key is missing or unknown, or a value has another type, shape or size.
            InstructionError: the policy does not know a word of the prompt.
            ConfigError: it cannot be steered by a name, or not so far.
        """
        self._check_keys(request)
        stamp_ns = request.get(keys.STAMP, time.monotonic_ns())
        prompt = request[keys.PROMPT]
        if type(stamp_ns) is not int:
            raise InvalidDataError(f"{keys.STAMP} is {type(stamp_ns).__name__}, must be a whole number")
        if not isinstance(prompt, str) or len(prompt) > keys.LONGEST_PROMPT:
            raise InvalidDataError(f"{keys.PROMPT} must be text of at most {keys.LONGEST_PROMPT} characters")
        position = _numbers(request, keys.JOINT_POSITION)
        velocity = _numbers(request, keys.JOINT_VELOCITY) if keys.JOINT_VELOCITY in request else np.zeros_like(position)
        observation = Observation(
            stamp_ns=stamp_ns,
            joint_position=position,
            joint_velocity=velocity,
            images={
                camera.name: Image(stamp_ns=stamp_ns, pixels=_pixels(key, request[key], camera))
                for key, camera in self._cameras.items()
            },
            instruction=prompt,
        )
        prefix, frozen = self._prefix(request, stamp_ns)
        steering = request.get(keys.STEERING, {})
        if not isinstance(steering, Mapping):
            raise InvalidDataError(f"{keys.STEERING} is {type(steering).__name__}, must be a map of names to numbers")
        for name, value in {**self._defaults, **steering}.items():
            self._steer(name, value)
        chunk = self._policy.infer(observation, prefix, frozen)
        return {keys.ACTIONS: chunk.actions, keys.STAMP: stamp_ns}

    def _check_keys(self, request: Mapping[Any, Any]) -> None:
        if missing := sorted(self._needed - set(request)):
            raise InvalidDataError(f"the request lacks {', '.join(missing)}")
        for key in request:
            if key not in self._known:
                close = difflib.get_close_matches(str(key), self._known, n=1) or sorted(self._known)
                raise InvalidDataError(f"the request has unknown key {key!r:.80}; known: {', '.join(close)}")

    def _prefix(self, request: Mapping[Any, Any], stamp_ns: int) -> tuple[ActionChunk | None, int | None]:
        if keys.PREFIX not in request:
            return None, None
        frozen = request.get(keys.FROZEN)
        if type(frozen) is not int or frozen < 0:
            raise InvalidDataError(f"{keys.FROZEN} is {frozen!r:.40}, must be how many rows of {keys.PREFIX} are fixed")
        step_ns = self._manifest.action.step_ns
        prefix = ActionChunk(
            actions=_numbers(request, keys.PREFIX),
            start_ns=stamp_ns + step_ns,
            step_ns=step_ns,
            observation_stamp_ns=stamp_ns,
        )
        return prefix, frozen


def sees_velocity(manifest: Manifest) -> bool:
    """Returns whether the state of a policy holds a velocity."""
    return any("velocity" in item.name for item in manifest.state)


def _numbers(request: Mapping[Any, Any], key: str) -> npt.NDArray[Any]:
    value = request[key]
    if not isinstance(value, np.ndarray) or value.dtype == np.bool_:
        raise InvalidDataError(f"{key} must be an array of numbers")
    return value


def _pixels(key: str, value: Any, camera: CameraInput) -> npt.NDArray[np.uint8]:
    if isinstance(value, np.ndarray):
        return value
    if isinstance(value, dict) and isinstance(data := value.get(keys.JPEG), bytes):
        return jpeg.decode(data, camera.height, camera.width)
    raise InvalidDataError(f"{key} must be a uint8 array, or a map of {keys.JPEG} to the bytes of a JPEG")

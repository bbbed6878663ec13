"""From an openpi request to a local policy and back. What a request may hold is in `keys`."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from tendon.core.errors import InvalidDataError
from tendon.core.protocols import Policy
from tendon.core.types import ActionChunk, Image, Observation
from tendon.policies.adapter.matching import robot_digests
from tendon.policies.remote.served import keys
from tendon.policies.remote.transport import jpeg
from tendon.policies.spec.manifest import CameraInput, Manifest, manifest_mapping
from tendon.robots.profile import RobotProfile

BESIDE_IMAGES = 1 << 18
"""Bytes of a request that are no pixels."""


class ServedPolicy(Policy, Protocol):
    """What can be served, such as a `BundlePolicy`."""

    def observe(self, observation: Observation) -> None:
        """Takes an observation that is not inferred from, for a policy that sees its past."""

    def steer(self, name: str, value: float) -> None:
        """Sets one of the numbers that the policy can be steered by."""


class Service:
    """Answers requests with a policy. One thread.

    Each request is given its own time, far from that of the last: what a policy keeps of one client it cannot take
    for the past of another.

    Args:
        policy: local.
        manifest: of it.
        profile: the robot it is set up for.
    """

    def __init__(self, policy: ServedPolicy, manifest: Manifest, profile: RobotProfile) -> None:
        self._policy, self._manifest, self._profile = policy, manifest, profile
        self._now_ns = 0
        self._defaults = {each.name: each.default for each in manifest.steering}
        self._cameras = {keys.IMAGE_PREFIX + camera.name: camera for camera in manifest.cameras}
        self._seen = {keys.JOINT_POSITION, *self._cameras}
        if sees_velocity(manifest):
            self._seen.add(keys.JOINT_VELOCITY)
        self._needed = {*self._seen, keys.PROMPT}
        if manifest.history > 1:
            self._needed.add(keys.HISTORY)
        optional = {keys.JOINT_VELOCITY, keys.STAMP, keys.PREFIX, keys.FROZEN, keys.STEERING}
        self._known = self._needed | optional

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
        pixels = sum(camera.width * camera.height for camera in self._manifest.cameras)
        return BESIDE_IMAGES + 3 * pixels * self._manifest.history

    def answer(self, request: Mapping[Any, Any]) -> dict[Any, Any]:
        """Returns the chunk for a request: `actions` (T, n) in the profile's joint order, rad or m.

        Raises:
            InvalidDataError: a key is missing or unknown, or a value has another type, shape or size.
            InstructionError: the policy does not know a word of the prompt.
            ConfigError: it cannot be steered by a name, or not so far.
        """
        _check_keys(request, self._needed, self._known)
        count, step_ns = self._manifest.history, self._manifest.action.step_ns
        self._now_ns += 4 * count * step_ns
        prompt = request[keys.PROMPT]
        if not isinstance(prompt, str) or len(prompt) > keys.LONGEST_PROMPT:
            raise InvalidDataError(f"{keys.PROMPT} must be text of at most {keys.LONGEST_PROMPT} characters")
        observation = self._observation(request, self._now_ns, prompt)
        past = request.get(keys.HISTORY, [])
        if not isinstance(past, list) or len(past) != count - 1:
            raise InvalidDataError(f"{keys.HISTORY} must be a list of {count - 1} maps, the oldest first")
        before = []
        for k, part in enumerate(past, 1 - count):
            if not isinstance(part, Mapping):
                raise InvalidDataError(f"{keys.HISTORY} holds {type(part).__name__}, must be maps")
            _check_keys(part, self._seen, {*self._seen, keys.JOINT_VELOCITY})
            before.append(self._observation(part, self._now_ns + k * step_ns, prompt))
        prefix, frozen = self._prefix(request, self._now_ns)
        steering = request.get(keys.STEERING, {})
        if not isinstance(steering, Mapping):
            raise InvalidDataError(f"{keys.STEERING} is {type(steering).__name__}, must be a map of names to numbers")
        for name, value in {**self._defaults, **steering}.items():
            self._policy.steer(name, value)
        for each in before:
            self._policy.observe(each)
        chunk = self._policy.infer(observation, prefix, frozen)
        return {keys.ACTIONS: chunk.actions} | {key: request[key] for key in (keys.STAMP,) if key in request}

    def _observation(self, part: Mapping[Any, Any], stamp_ns: int, prompt: str) -> Observation:
        position = _numbers(part, keys.JOINT_POSITION)
        velocity = _numbers(part, keys.JOINT_VELOCITY) if keys.JOINT_VELOCITY in part else np.zeros_like(position)
        return Observation(
            stamp_ns=stamp_ns,
            joint_position=position,
            joint_velocity=velocity,
            images={
                camera.name: Image(stamp_ns=stamp_ns, pixels=_pixels(key, part[key], camera))
                for key, camera in self._cameras.items()
            },
            instruction=prompt,
        )

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
    return any(
        item.name == "tool_velocity" or any(component.is_velocity for component in item.joints)
        for item in manifest.state
    )


def _check_keys(part: Mapping[Any, Any], needed: set[str], known: set[str]) -> None:
    if missing := sorted(needed - set(part)):
        raise InvalidDataError(f"the request lacks {', '.join(missing)}")
    for key in part:
        if key not in known:
            close = difflib.get_close_matches(str(key), known, n=1) or sorted(known)
            raise InvalidDataError(f"the request has unknown key {key!r:.80}; known: {', '.join(close)}")


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

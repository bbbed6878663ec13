"""`tendon policy serve` as a policy: the server says itself what it serves, and answers in the robot's joints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tendon.core.errors import ConfigError, InvalidDataError, MismatchError
from tendon.core.pace import Pace
from tendon.core.types import Array, Observation
from tendon.policies.adapter.matching import check_profile, robot_digests
from tendon.policies.remote.link import RemoteAnswer, check_length, read_rows, server_ns
from tendon.policies.remote.openpi.client import OpenpiClient
from tendon.policies.remote.openpi.format import Packer
from tendon.policies.remote.served import keys
from tendon.policies.remote.transport import jpeg
from tendon.policies.remote.transport.endpoint import Endpoint
from tendon.policies.spec.history import History
from tendon.policies.spec.manifest import CameraInput, InstructionInput, Manifest, parse_manifest
from tendon.policies.spec.steering import Steering
from tendon.policies.spec.tokens import Tokenizer
from tendon.robots.profile import RobotProfile


class TendonLink:
    """A `Link` to `tendon policy serve`; connects at once.

    Args:
        endpoint: of the server.
        profile: the robot.
        jpeg_quality: 1 to 100 to send images as JPEG; `None` sends pixels.

    Raises:
        RemoteError: the server is out of reach.
        MismatchError: it is no `tendon policy serve`, its policy is not for this robot, or it has another profile.
    """

    def __init__(self, endpoint: Endpoint, profile: RobotProfile, jpeg_quality: int | None = None) -> None:
        self.url, self._profile, self._quality = endpoint.url, profile, jpeg_quality
        self._metadata: Mapping[Any, Any] | None = None
        self._said = b""
        self._client = OpenpiClient(endpoint, self._check)
        self._client.connect()
        metadata: Mapping[Any, Any] = self._metadata or {}
        manifest = read_manifest(metadata)
        self.name: str = manifest.name
        self.cameras: tuple[CameraInput, ...] = manifest.cameras
        self.rows: int = manifest.action.rows
        self.step_ns: int = manifest.action.step_ns
        self.prefix_rows: int = metadata[keys.META_PREFIX_ROWS]
        self.overlap_rows: int = metadata[keys.META_OVERLAP_ROWS]
        self.pace: Pace = manifest.pace
        self.steering = Steering(manifest.steering)
        self._past = range(1 - manifest.history, 0)
        self._history = History(len(self._past), self.step_ns) if self._past else None
        words = manifest.instruction
        self._tokenizer: Tokenizer | None = None
        if isinstance(words, InstructionInput):
            self._tokenizer = Tokenizer(words.vocabulary, words.tokens)

    def check_instruction(self, instruction: str) -> None:
        """See `Link`."""
        check_length(instruction)
        if self._tokenizer is not None:
            self._tokenizer.encode(instruction)

    def ask(self, observation: Observation, given: Array, frozen: int, timeout_s: float) -> RemoteAnswer:
        """See `Link`."""
        request = self._seen(observation) | {keys.PROMPT: observation.instruction, keys.STAMP: observation.stamp_ns}
        if self._history is not None:
            self._history.add(observation)
            request[keys.HISTORY] = [self._seen(each) for each in self._history.seen(observation, self._past)]
        if len(given):
            request |= {keys.PREFIX: given, keys.FROZEN: frozen}
        if values := dict(self.steering.values):
            request[keys.STEERING] = values
        answer = self._client.ask(request, timeout_s)
        if answer.get(keys.STAMP) != observation.stamp_ns:
            raise InvalidDataError(f"the answer is for stamp {answer.get(keys.STAMP)!r:.40}, not for this observation")
        actions = read_rows(answer, keys.ACTIONS, (self.rows, len(self._profile.joints)))
        if not np.array_equal(actions[:frozen], given[:frozen]):
            raise InvalidDataError(f"the answer does not start with the {frozen} rows of the plan that were to stay")
        return RemoteAnswer(actions=actions, server_ns=server_ns(answer))

    def observe(self, observation: Observation) -> None:
        """See `Link`."""
        if self._history is not None:
            self._history.add(observation)

    def close(self) -> None:
        """See `Link`."""
        self._client.close()

    def _seen(self, observation: Observation) -> dict[str, Any]:
        seen: dict[str, Any] = {
            keys.JOINT_POSITION: observation.joint_position,
            keys.JOINT_VELOCITY: observation.joint_velocity,
        }
        for camera in self.cameras:
            pixels = observation.images[camera.name].pixels
            coded = pixels if self._quality is None else {keys.JPEG: jpeg.encode(pixels, self._quality)}
            seen[keys.IMAGE_PREFIX + camera.name] = coded
        return seen

    def _check(self, metadata: Mapping[Any, Any]) -> None:
        """Takes the metadata of a connection: the first must fit the robot, the others must be like the first."""
        if self._metadata is not None:
            if bytes(Packer().pack(metadata)) != self._said:
                raise MismatchError(f"{self.url} serves another policy now: start anew to use it")
            return
        check_profile(read_manifest(metadata), self._profile)
        digests, theirs = robot_digests(self._profile), metadata.get(keys.META_ROBOT)
        for part in keys.SHARED_PARTS:
            if not isinstance(theirs, Mapping) or theirs.get(part) != digests[part]:
                raise MismatchError(
                    f"profile {self._profile.name} on {self.url} has other {part} than here: give both machines the "
                    "same profile"
                )
        self._metadata, self._said = metadata, bytes(Packer().pack(metadata))


def read_manifest(metadata: Mapping[Any, Any]) -> Manifest:
    """Returns the manifest that a server sent.

    Raises:
        MismatchError: it is no `tendon policy serve`, or one of another version.
    """
    version = metadata.get(keys.META_VERSION)
    if version is None:
        raise MismatchError(
            "the server is no `tendon policy serve`: take kind: openpi, and say what the policy sees and answers"
        )
    if version != keys.VERSION:
        raise MismatchError(
            f"the server speaks version {version!r:.40}, this is {keys.VERSION}: install the same Tendon"
        )
    rows = [metadata.get(key) for key in (keys.META_PREFIX_ROWS, keys.META_OVERLAP_ROWS)]
    if not all(type(count) is int and count >= 0 for count in rows):
        raise MismatchError(f"the server says prefix and overlap rows {rows!r:.80}, must be whole numbers")
    try:
        return parse_manifest(metadata.get(keys.META_MANIFEST))
    except ConfigError as error:
        raise MismatchError(f"what the server says of its policy is not understood: {error}") from error

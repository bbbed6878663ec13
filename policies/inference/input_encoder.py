"""From an observation to what a policy's graph is fed: images, state and words, each checked."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tendon.core.errors import InvalidDataError
from tendon.core.types import Array, Observation
from tendon.policies.adapter.adapter import Adapter
from tendon.policies.bundle.bundle import Bundle
from tendon.policies.engines.loading import Tensor
from tendon.policies.inference.prompt import Prompt
from tendon.policies.inference.virtual_cameras import VirtualCameras
from tendon.policies.spec.history import History
from tendon.policies.spec.manifest import CameraInput, InstructionInput, PromptInput
from tendon.policies.spec.tokens import Tokenizer
from tendon.robots.profile import RobotProfile


class InputEncoder:
    """What a policy sees of an observation, in its own words.

    Args:
        bundle: of the policy.
        adapter: turns joints to its state.
        profile: the robot, whose cameras may be elsewhere than those of training.

    Raises:
        MismatchError: see `VirtualCameras`.
    """

    def __init__(self, bundle: Bundle, adapter: Adapter, profile: RobotProfile) -> None:
        self._manifest = manifest = bundle.manifest
        self._cameras = VirtualCameras(manifest.cameras, profile)
        self._adapter = adapter
        self._mean, self._std = np.array(manifest.state_mean), np.array(manifest.state_std)
        reads = manifest.instruction
        self._words = Tokenizer(reads.vocabulary, reads.tokens) if isinstance(reads, InstructionInput) else None
        self._prompt = None
        if isinstance(reads, PromptInput):
            self._prompt = Prompt(reads.kind, bundle.content[reads.tokenizer], reads.tokens)
        self._history = History(manifest.history - 1, manifest.action.step_ns)

    def add(self, observation: Observation) -> None:
        """Keeps an observation for a policy that is told its past."""
        if self._manifest.history > 1:
            self._history.add(observation)

    def feeds(self, observation: Observation) -> dict[str, Tensor]:
        """Returns the graph's inputs.

        Raises:
            InvalidDataError: a camera is missing, or an image or joint vector has another size.
            InstructionError: the policy does not know a word of the instruction.
        """
        check_observation(observation, self._manifest.joint_names, self._manifest.cameras)
        self.add(observation)
        seen = self._history.seen(observation, range(1 - self._manifest.history, 1))
        feeds: dict[str, Tensor] = {}
        for camera in self._manifest.cameras:
            frames = [self._cameras.pixels(each, camera.name) for each in seen]
            feeds[f"image_{camera.name}"] = frames[0][None] if len(frames) == 1 else np.stack(frames)
        states = np.array([self._adapter.state(each.joint_position, each.joint_velocity) for each in seen])
        feeds["state"] = ((states - self._mean) / self._std).astype(np.float32)
        return feeds | self.read(observation.instruction, feeds["state"][-1])

    def read(self, instruction: str, state: Array) -> dict[str, Tensor]:
        """Returns the inputs that an instruction becomes.

        Args:
            instruction: in words.
            state: (S,) normalised; some prompts spell it out.

        Raises:
            InstructionError: the policy does not know a word of it.
        """
        if self._words is not None:
            return {"tokens": self._words.encode(instruction)[None]}
        if self._prompt is not None:
            tokens, mask = self._prompt.encode(instruction, state)
            return {"tokens": tokens[None], "token_mask": mask[None]}
        return {}


def check_observation(observation: Observation, joint_names: Sequence[str], cameras: Sequence[CameraInput]) -> None:
    """Checks that an observation is of the robot and has the images that a policy sees.

    Raises:
        InvalidDataError: a camera is missing, or an image or joint vector has another size.
    """
    if len(observation.joint_position) != len(joint_names):
        raise InvalidDataError(
            f"the observation has {len(observation.joint_position)} joints, expected {len(joint_names)}: "
            f"{', '.join(joint_names)}"
        )
    for camera in cameras:
        _check_image(observation, camera)


def _check_image(observation: Observation, camera: CameraInput) -> None:
    image = observation.images.get(camera.name)
    if image is None:
        seen = ", ".join(observation.images) or "none"
        raise InvalidDataError(f"the observation lacks camera {camera.name} (it has: {seen})")
    if image.pixels.shape != (camera.height, camera.width, 3):
        height, width, _ = image.pixels.shape
        raise InvalidDataError(
            f"camera {camera.name} gives {width}x{height} px, the policy sees {camera.width}x{camera.height}: "
            "set the size at the camera"
        )

"""`bundle.yaml` as one frozen, checked value: what a policy sees, what it answers, and in which units."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import Enum
from typing import Annotated, Any, Literal

import numpy as np

from tendon.core.checks import check_choice
from tendon.core.config import build
from tendon.core.errors import ConfigError
from tendon.core.fields import Count, Form, Names, OneOf, Range, Text, check_fields
from tendon.core.pace import USUAL, Pace
from tendon.policies.inference.prompt import PROMPTS
from tendon.policies.spec.fields import Numbers, check_unique, numbers, positive, sequence
from tendon.policies.spec.sampling import SCHEDULES, Denoiser
from tendon.policies.spec.spaces import ActionSpace, StateItem
from tendon.policies.spec.steering import SteeringInput
from tendon.policies.spec.tokens import PAD, UNKNOWN, words
from tendon.robots.camera_view import CameraView

FORMAT: Literal[2] = 2
MODEL_FILE = "policy.onnx"
ROBOT_PARTS = ("joints", "limits", "kinematics", "cameras", "calibration")
"""Parts of a robot that a bundle may be bound to, see `matching.robot_digests`."""

Sha256 = Annotated[str, Form(pattern="[0-9a-f]{64}", advice="must be 64 lower-case hex digits of SHA-256")]


class Continuation(Enum):
    """How a new chunk continues the plan that runs while it is inferred.

    - TRAINED_PREFIX: the policy was trained to (training-time real-time chunking, Black et al. 2025).
    - INPAINTING: a denoiser is led by the running plan, see `sampling`.
    - OVERLAP: a chunk that knows nothing of it is blended with it.
    """

    TRAINED_PREFIX = "trained_prefix"
    INPAINTING = "inpainting"
    OVERLAP = "overlap"


@dataclass(frozen=True, kw_only=True)
class CameraInput:
    """A camera the policy sees.

    Attributes:
        name: in the profile.
        width: of its pictures in training [px].
        height: likewise.
        trained_view: from where they were seen, through what lens: pictures of a robot whose calibration knows the
            camera are redrawn as if seen from there. `None` takes pictures as they come.
        plane_m: height above the base frame of the plane over which they are redrawn [m]: of the middle of things.
    """

    name: Text
    width: Count
    height: Count
    trained_view: CameraView | None = None
    plane_m: Annotated[float, Range(least=-2, most=2, unit="m")] = 0.0

    def __post_init__(self) -> None:
        check_fields(self, "camera")


@dataclass(frozen=True, kw_only=True)
class InstructionInput:
    """How an instruction becomes numbers: padded to `tokens` words of `vocabulary`, which starts <pad>, <unk>."""

    tokens: Count
    vocabulary: tuple[str, ...]

    def __post_init__(self) -> None:
        check_fields(self, "instruction")
        object.__setattr__(self, "vocabulary", sequence("instruction vocabulary", self.vocabulary))
        for word in self.vocabulary[2:]:
            if not isinstance(word, str) or words(word) != [word]:
                raise ConfigError(
                    f"instruction vocabulary has {word!r}: each entry is one lower-case word "
                    "(in YAML, quote words such as 'on' and 'no')"
                )
        if self.vocabulary[:2] != (PAD, UNKNOWN):
            raise ConfigError(f"instruction vocabulary starts {list(self.vocabulary[:2])}, must be [{PAD}, {UNKNOWN}]")
        check_unique("instruction vocabulary", self.vocabulary)


@dataclass(frozen=True, kw_only=True)
class PromptInput:
    """How an instruction becomes numbers in a policy with a language model's tokenizer.

    Attributes:
        kind: whose template it is, see `tendon.policies.inference.prompt`.
        tokenizer: file of the bundle, in the format of the `tokenizers` package.
        tokens: how many numbers, padding included.
    """

    kind: Annotated[str, OneOf(tuple(PROMPTS))]
    tokenizer: Text
    tokens: Count

    def __post_init__(self) -> None:
        check_fields(self, "instruction")


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """All of `bundle.yaml`.

    Attributes:
        name: of the policy.
        robot: name of the profile it was trained for.
        tool_frame: frame that tool positions are of, in the robot's URDF.
        joint_names: the profile's joint order, which chunks are answered in.
        cameras: images it sees, ONNX inputs `image_NAME`.
        state: parts of ONNX input `state`, in order; `state_mean`, `state_std` normalise it.
        action: the meaning, size and timing of an answer.
        instruction: how it reads one; `None` when it knows one task only.
        prefix_rows: most rows of the running plan it was trained to continue; 0 when it was not.
        pace: how long its plans are kept.
        history: how many observations it sees, a step apart; images and state have so many rows, the newest last.
        steering: numbers it can be steered by while it runs: inputs `steer_NAME` of `model`.
        training: free-form record of recipe, seed, commit and evaluation.
        model: which of `files` is the ONNX graph that takes the observation.
        denoiser: the graph that makes the chunk from what that one answers; `None` when it answers the chunk.
        files: every file of the bundle to its SHA-256; `write_bundle` fills it in.
        made_for: parts of the robot it was made for to their digests, as `tendon policy pin` writes them; a part that
            differs at start is refused, one that is not named is not checked.
        format: version of this layout.

    Raises:
        ConfigError: a field is of the wrong type, size or value.
    """

    name: Text
    robot: Text
    tool_frame: Text
    joint_names: Names
    cameras: tuple[CameraInput, ...]
    state: tuple[StateItem, ...]
    state_mean: Numbers
    state_std: Numbers
    action: ActionSpace
    instruction: InstructionInput | PromptInput | None
    prefix_rows: Annotated[int, Range(least=0)] = 0
    pace: Pace = USUAL
    history: Count = 1
    steering: tuple[SteeringInput, ...] = ()
    training: Mapping[str, Any] = field(default_factory=dict)
    model: Text = MODEL_FILE
    denoiser: Denoiser | None = None
    files: Mapping[str, Sha256] = field(default_factory=dict)
    made_for: Mapping[str, Sha256] = field(default_factory=dict)
    format: Literal[2] = FORMAT

    def __post_init__(self) -> None:
        check_fields(self, "bundle")
        for name in ("joint_names", "cameras", "state", "steering"):
            object.__setattr__(self, name, sequence(name, getattr(self, name)))
        for name, values in (
            ("joint_names", self.joint_names),
            ("cameras", tuple(camera.name for camera in self.cameras)),
            ("state", tuple(f"{item.name} {item.frame or i * bool(item.joints)}" for i, item in enumerate(self.state))),
        ):
            check_unique(name, values)
        if self.steering:
            check_unique("steering", tuple(each.name for each in self.steering))
        object.__setattr__(self, "state_mean", numbers("state_mean", self.state_mean, self.state_size))
        object.__setattr__(self, "state_std", positive("state_std", self.state_std, self.state_size))
        if self.denoiser is not None:
            width = len(self.action.mean)
            if self.denoiser.components < width:
                raise ConfigError(f"denoiser components is {self.denoiser.components}, the action has {width}")
            if self.prefix_rows:
                raise ConfigError(f"prefix_rows is {self.prefix_rows}, must be 0 with a denoiser: it is in-painted")
        if self.prefix_rows >= self.action.rows:
            raise ConfigError(
                f"prefix_rows is {self.prefix_rows}, must be below action rows {self.action.rows}: "
                "something must be left to predict"
            )
        longest = max(self.action.rows - 1, USUAL.replan_rows)
        for name, rows in (("replan_rows", self.pace.replan_rows), ("continued_rows", self.pace.continued_rows)):
            if rows > longest:
                raise ConfigError(f"pace {name} is {rows}, must be at most {longest}: below action rows")
        for part in self.made_for:
            check_choice("made_for", part, ROBOT_PARTS)

    @property
    def continuations(self) -> tuple[Continuation, ...]:
        """How the policy can continue a running plan, the best first."""
        trained = (Continuation.TRAINED_PREFIX,) if self.prefix_rows else ()
        denoised = (Continuation.INPAINTING,) if self.denoiser is not None else ()
        return (*trained, *denoised, Continuation.OVERLAP)

    @property
    def state_size(self) -> int:
        """How many numbers the state vector has."""
        return sum(item.size for item in self.state)


def parse_manifest(raw: Any) -> Manifest:
    """Builds a manifest from what `yaml.safe_load` gave.

    Raises:
        ConfigError: an unknown key (with the closest known one), a missing key, or a wrong value.
    """
    if not isinstance(raw, Mapping):
        raise ConfigError(f"manifest must be a mapping, got {type(raw).__name__}")
    values = dict(raw)
    if values.get("format") != FORMAT:  # before unknown keys: a newer layout has keys we do not know
        raise ConfigError(f"format is {values.get('format')!r}, this version reads {FORMAT}")
    if (instruction := values.get("instruction")) is not None:
        prompts = isinstance(instruction, Mapping) and "tokenizer" in instruction
        reads = PromptInput if prompts else InstructionInput
        values["instruction"] = build(reads, "instruction", instruction)
    if (denoiser := values.get("denoiser")) is not None:
        values["denoiser"] = _denoiser(denoiser)
    return build(Manifest, "manifest", values)


def _denoiser(raw: Any) -> Denoiser:
    where = "denoiser"
    if not isinstance(raw, Mapping):
        raise ConfigError(f"{where} must be a mapping, got {type(raw).__name__}")
    check_choice("denoiser kind", kind := raw.get("kind"), tuple(SCHEDULES))
    schedule = build(SCHEDULES[str(kind)], f"{where} schedule", raw.get("schedule"))
    return build(Denoiser, where, {**raw, "schedule": schedule})


def manifest_mapping(manifest: Manifest) -> dict[str, Any]:
    """Returns the plain mapping that `parse_manifest` reads back as an equal manifest."""
    plain = _plain(asdict(manifest))
    for key in ("state", "action"):
        plain[key] = _said(plain[key])
    for camera in plain["cameras"]:
        if camera["trained_view"] is None:
            del camera["trained_view"], camera["plane_m"]
    order = ("format", "name", "robot", "tool_frame", "joint_names", "made_for", "model", "denoiser", "files")
    if plain["denoiser"] is None:
        del plain["denoiser"]
    if manifest.pace == USUAL:
        del plain["pace"]
    first = {key: plain[key] for key in order if key in plain}
    return first | {key: value for key, value in plain.items() if key not in first}


def _said(value: Any) -> Any:
    """Leaves out what is `None`, which is what a key that is not there means."""
    if isinstance(value, dict):
        return {key: _said(item) for key, item in value.items() if item is not None}
    return [_said(item) for item in value] if isinstance(value, list) else value


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    return value

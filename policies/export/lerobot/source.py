"""Reads a LeRobot pretrained directory: its configuration, processors and statistics, before anything is built.

The layout is LeRobot's own (`save_pretrained`): `config.json`, `model.safetensors`, and `policy_preprocessor.json` and
`policy_postprocessor.json` with one safetensors file a stateful step. In directories from before the processors, the
statistics are among the weights (`normalize_inputs.buffer_observation_state.mean`). No file may name code.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load

from tendon.core.errors import ConfigError, IntegrityError
from tendon.core.json_object import read_json_object
from tendon.policies.export.lerobot.statistics import Affine, identity, to_affine
from tendon.policies.export.weights import tensor_shapes

CONFIG_FILE = "config.json"
WEIGHTS_FILE = "model.safetensors"
PREPROCESSOR_FILE = "policy_preprocessor.json"
POSTPROCESSOR_FILE = "policy_postprocessor.json"
POLICY_TYPES = ("act", "diffusion", "pi0", "pi05", "smolvla")
WITHOUT_STATE = ("act",)
"""Policy types that LeRobot runs without `observation.state` among their inputs."""
STATE = "observation.state"
ACTION = "action"

NORMALIZER = "normalizer_processor"
UNNORMALIZER = "unnormalizer_processor"
RELATIVE = ("relative_actions_processor", "delta_actions_processor")
"""The preprocessor's step of relative actions, as 0.6 and as 0.5.1 call it; see `relative`."""
ABSOLUTE = "absolute_actions_processor"
PLUMBING = (
    "rename_observations_processor",
    "to_batch_processor",
    "device_processor",
    NORMALIZER,
    UNNORMALIZER,
    *RELATIVE,
    ABSOLUTE,
)
"""Steps that any policy can have: names, batch dimension, device, and what is read here and in `relative`."""

_OLD_INPUTS = ("normalize_inputs.buffer_",)
_OLD_OUTPUTS = ("unnormalize_outputs.buffer_", "normalize_targets.buffer_")


@dataclass(frozen=True, kw_only=True)
class Feature:
    """What LeRobot calls a policy feature: its kind (VISUAL, STATE, ENV, ACTION) and shape, images as (3, H, W)."""

    kind: str
    shape: tuple[int, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class Step:
    """One step of a processor: LeRobot's registry name, its configuration, and its tensors."""

    name: str
    config: Mapping[str, Any]
    state: Mapping[str, npt.NDArray[Any]]


@dataclass(frozen=True, kw_only=True, eq=False)
class LeRobotSource:
    """A pretrained directory, read and checked; the weights are still on disk.

    Attributes:
        folder: where it is.
        type: one of `POLICY_TYPES`.
        config: `config.json` without `type`.
        inputs: features the policy sees, by LeRobot's key.
        outputs: features it answers.
        preprocessor: steps from observation to network.
        postprocessor: steps from network to action.
        digests: SHA-256 of each file that was read, the weights too.
    """

    folder: Path
    type: str
    config: Mapping[str, Any]
    inputs: Mapping[str, Feature]
    outputs: Mapping[str, Feature]
    preprocessor: tuple[Step, ...]
    postprocessor: tuple[Step, ...]
    digests: Mapping[str, str]

    @property
    def weights(self) -> Path:
        """The safetensors file of the weights."""
        return self.folder / WEIGHTS_FILE

    @property
    def images(self) -> dict[str, Feature]:
        """The image features, in the policy's order."""
        return {key: feature for key, feature in self.inputs.items() if feature.kind == "VISUAL"}

    @property
    def sees_state(self) -> bool:
        """Whether it sees the robot's state at all."""
        return STATE in self.inputs

    @property
    def state_size(self) -> int:
        """How many numbers `observation.state` has; 1, a constant, for a policy that does not see it."""
        return self.inputs[STATE].shape[0] if self.sees_state else 1

    @property
    def action_size(self) -> int:
        """How many numbers a row of `action` has."""
        return self.outputs[ACTION].shape[0]

    def count(self, name: str, default: int) -> int:
        """Returns a whole number of the configuration.

        Raises:
            ConfigError: it is none, or negative.
        """
        value = self.config.get(name, default)
        if type(value) is not int or value < 0:
            raise ConfigError(f"{self.folder / CONFIG_FILE}: {name} is {value!r}, must be a whole number from 0")
        return value

    def record(self) -> dict[str, Any]:
        """Returns what to keep of it in a bundle: the policy's type and what its files were."""
        return {"format": "lerobot", "type": self.type, "files": dict(self.digests)}

    def normalisation(self, key: str) -> Affine:
        """Returns how an observation feature is normalised: (S,) for a state, (3,) for an image's channels.

        A state that is not seen is left as it is.

        Raises:
            ConfigError: its statistics are missing or of another shape, or its mode is unknown.
        """
        if key == STATE and not self.sees_state:
            return identity(self.state_size)
        return self._affine(self.preprocessor, NORMALIZER, key, self.inputs[key], inverse=False)

    def action_normalisation(self) -> Affine:
        """Returns how the answer is turned back: value = normalised * std + mean. Errors as `normalisation`."""
        return self._affine(self.postprocessor, UNNORMALIZER, ACTION, self.outputs[ACTION], inverse=True)

    def check_steps(self, known: tuple[str, ...] = ()) -> None:
        """Checks that every processor step is one of `PLUMBING` or `known`: a step left out would change the answer.

        Raises:
            ConfigError: one is not, or numbers are rounded on the way in.
        """
        for file, steps in ((PREPROCESSOR_FILE, self.preprocessor), (POSTPROCESSOR_FILE, self.postprocessor)):
            for step in steps:
                if step.name not in (*PLUMBING, *known):
                    raise ConfigError(
                        f"{self.folder / file}: step {step.name!r} of policy type {self.type} is unknown, "
                        f"known: {', '.join((*PLUMBING, *known))}"
                    )
                if (rounded := step.config.get("float_dtype")) not in (None, "float32"):
                    raise ConfigError(f"{self.folder / file}: step {step.name} rounds to {rounded}, must be float32")

    def _affine(self, steps: tuple[Step, ...], name: str, key: str, feature: Feature, inverse: bool) -> Affine:
        found = [step for step in steps if step.name == name]
        if len(found) > 1:
            raise ConfigError(f"{self.folder}: {len(found)} steps {name}, at most one can be read")
        mapping = found[0].config.get("norm_map", {}) if found else self.config.get("normalization_mapping", {})
        selected = found[0].config.get("normalize_observation_keys") if found else None
        eps = found[0].config.get("eps", 1e-8) if found else 1e-8
        for what, value, kind in (("norm_map", mapping, dict), ("keys", selected or [], list), ("eps", eps, float)):
            if not isinstance(value, kind):
                raise ConfigError(f"{self.folder}: {what} of {name} is {value!r}, must be a {kind.__name__}")
        mode = mapping.get(feature.kind, "IDENTITY")
        size = feature.shape[0]
        if mode == "IDENTITY" or (selected is not None and not inverse and key not in selected):
            return identity(size)
        prefix = f"{key}."
        state = found[0].state if found else {}
        statistics = {name[len(prefix) :]: value for name, value in state.items() if name.startswith(prefix)}
        shape = (size, 1, 1) if feature.kind == "VISUAL" else (size,)
        where = f"{self.folder}: feature {key}"
        return to_affine(where, str(mode), statistics, shape, eps=float(eps), inverse=inverse)


def read_source(folder: str | Path) -> LeRobotSource:
    """Reads a pretrained directory.

    Raises:
        ConfigError: there is none, its type is unknown, or a configuration is malformed.
        IntegrityError: a safetensors file is missing, truncated or altered, or a name leads out of the directory.
    """
    folder = Path(folder)
    if not (folder / CONFIG_FILE).is_file():
        raise ConfigError(f"no LeRobot policy at {folder}: it has no {CONFIG_FILE}; give the `pretrained_model` folder")
    config = read_json_object(folder / CONFIG_FILE)
    kind = config.pop("type", None)
    if kind not in POLICY_TYPES:
        raise ConfigError(f"{folder / CONFIG_FILE}: policy type is {kind!r}, known: {', '.join(POLICY_TYPES)}")
    inputs = _features(folder, config, "input_features")
    outputs = _features(folder, config, "output_features")
    _check_features(folder, str(kind), inputs, outputs)
    shapes = tensor_shapes(folder / WEIGHTS_FILE)
    if (folder / PREPROCESSOR_FILE).is_file() or not any(map(is_old_statistic, shapes)):
        preprocessor, postprocessor = (_steps(folder, file) for file in (PREPROCESSOR_FILE, POSTPROCESSOR_FILE))
    else:
        preprocessor = (_old_step(folder, NORMALIZER, config, inputs, _OLD_INPUTS),)
        postprocessor = (_old_step(folder, UNNORMALIZER, config, outputs, _OLD_OUTPUTS),)
    files = [CONFIG_FILE, WEIGHTS_FILE, *sorted(p.name for p in folder.glob("policy_*processor*") if p.is_file())]
    return LeRobotSource(
        folder=folder,
        type=str(kind),
        config=config,
        inputs=inputs,
        outputs=outputs,
        preprocessor=preprocessor,
        postprocessor=postprocessor,
        digests={name: _digest(folder / name) for name in files},
    )


def is_old_statistic(name: str) -> bool:
    """Whether a name in `model.safetensors` is a statistic of the layout before processors, not a weight."""
    return name.startswith((*_OLD_INPUTS, *_OLD_OUTPUTS))


def _features(folder: Path, config: Mapping[str, Any], key: str) -> dict[str, Feature]:
    raw = config.get(key)
    if not isinstance(raw, Mapping) or not raw:
        raise ConfigError(f"{folder / CONFIG_FILE}: {key} is {raw!r}, must name the policy's features")
    features = {}
    for name, item in raw.items():
        shape = item.get("shape") if isinstance(item, Mapping) else None
        if not isinstance(shape, list) or not all(type(size) is int and size > 0 for size in shape):
            raise ConfigError(f"{folder / CONFIG_FILE}: {key} {name} has shape {shape!r}, must be a list of sizes")
        features[name] = Feature(kind=str(item.get("type")), shape=tuple(shape))
    return features


def _check_features(folder: Path, policy: str, inputs: Mapping[str, Feature], outputs: Mapping[str, Feature]) -> None:
    path = folder / CONFIG_FILE
    for name, features, kind in ((STATE, inputs, "STATE"), (ACTION, outputs, "ACTION")):
        feature = features.get(name)
        if feature is None and name == STATE and policy in WITHOUT_STATE:
            continue
        if feature is None:
            runs = f"; without it LeRobot runs {' and '.join(WITHOUT_STATE)} alone" if name == STATE else ""
            raise ConfigError(f"{path}: policy type {policy} has no feature {name}{runs}")
        if feature.kind != kind or len(feature.shape) != 1:
            raise ConfigError(f"{path}: feature {name} is {feature}, must be a vector of type {kind}")
    for name, feature in inputs.items():
        if feature.kind == "VISUAL":
            if len(feature.shape) != 3 or feature.shape[0] != 3:
                raise ConfigError(f"{path}: image {name} has shape {list(feature.shape)}, must be (3, height, width)")
        elif name != STATE:
            raise ConfigError(f"{path}: a robot has no input {name} of type {feature.kind}, only images and {STATE}")
    if not any(feature.kind == "VISUAL" for feature in inputs.values()):
        raise ConfigError(f"{path}: the policy sees no image: LeRobot runs {policy} on a robot with at least one")


def _steps(folder: Path, file: str) -> tuple[Step, ...]:
    path = folder / file
    if not path.is_file():
        raise ConfigError(
            f"{path} is missing, and {WEIGHTS_FILE} holds no statistics: normalisation is unknown; "
            "save the processors with the policy"
        )
    steps = read_json_object(path).get("steps")
    if not isinstance(steps, list) or not all(isinstance(step, dict) for step in steps):
        raise ConfigError(f"{path}: steps must be a list of objects")
    return tuple(_step(folder, file, step) for step in steps)


def _step(folder: Path, file: str, raw: Mapping[str, Any]) -> Step:
    name, config, state_file = raw.get("registry_name"), raw.get("config", {}), raw.get("state_file")
    if not isinstance(name, str):
        raise ConfigError(f"{folder / file}: a step is named by its class {raw.get('class')!r}: code is never loaded")
    if not isinstance(config, dict):
        raise ConfigError(f"{folder / file}: step {name} has config {config!r}, must be an object")
    state: Mapping[str, npt.NDArray[Any]] = {}
    if state_file is not None:
        if not isinstance(state_file, str) or Path(state_file).name != state_file:
            raise IntegrityError(f"{folder / file}: step {name} has state_file {state_file!r}, must be a plain name")
        if not state_file.endswith(".safetensors"):
            raise IntegrityError(f"{folder / file}: step {name} has state_file {state_file!r}, must be safetensors")
        tensor_shapes(folder / state_file)
        state = _load(folder / state_file)
    return Step(name=name, config=config, state=state)


def _load(path: Path) -> dict[str, npt.NDArray[Any]]:
    try:
        return load(path.read_bytes())
    except (SafetensorError, KeyError, TypeError) as error:
        raise IntegrityError(f"{path} does not load ({error}): save the processors again") from error


def _old_step(
    folder: Path, name: str, config: Mapping[str, Any], features: Mapping[str, Feature], prefixes: tuple[str, ...]
) -> Step:
    state: dict[str, npt.NDArray[Any]] = {}
    with safe_open(folder / WEIGHTS_FILE, framework="np") as file:
        for tensor in file.keys():  # noqa: SIM118
            for key in features:
                starts = [f"{prefix}{key.replace('.', '_')}." for prefix in prefixes]
                for start in starts:
                    if tensor.startswith(start):
                        state.setdefault(f"{key}.{tensor[len(start) :]}", np.asarray(file.get_tensor(tensor)))
    return Step(name=name, config={"norm_map": config.get("normalization_mapping", {})}, state=state)


def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()

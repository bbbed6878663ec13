"""What folders of newer LeRobots have that the one we build with has not: fields, steps and conventions.

The exporters run LeRobot 0.4.4's modules. Folders of 0.5.0, 0.5.1 and 0.6.1 are tried
(`tests/policies/export/lerobot/versions`): what is named here is all
that sets them apart for the policy types that can be imported.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from tendon.core.errors import ConfigError
from tendon.core.json_object import read_json_object
from tendon.policies.export.lerobot.source import CONFIG_FILE, PREPROCESSOR_FILE, LeRobotSource
from tendon.policies.export.weights import tensor_shapes

NEWEST = "0.6.1"
"""The newest version whose folders are tried."""

INERT = {
    "pretrained_revision": "0.6: which revision of a hub the weights came from",
    "gradient_checkpointing": "0.6: saves memory in training",
    "use_relative_actions": "0.5.1: the processors' steps say it, see `relative`",
    "relative_exclude_joints": "0.5.1: likewise",
    "action_feature_names": "0.5.1: likewise",
}
"""Fields of `config.json` that change nothing in a policy's network, and why."""

TRAIN_CONFIG_FILE = "train_config.json"

_EMBEDDINGS = "paligemma.model.language_model.embed_tokens.weight"


def inert_fields(source: LeRobotSource, known: Collection[str]) -> tuple[str, ...]:
    """Returns the fields of `config.json` that are left out: `INERT`, and not known to the LeRobot that builds it."""
    return tuple(name for name in source.config if name in INERT and name not in known)


def known_settings(source: LeRobotSource, known: Collection[str]) -> dict[str, Any]:
    """Returns `config.json` without inert fields.

    Args:
        source: the policy's directory.
        known: fields of the configuration that it is built with.

    Raises:
        ConfigError: a field is neither known nor inert. It could change the answer.
    """
    inert = inert_fields(source, known)
    unknown = [name for name in source.config if name not in known and name not in inert]
    if unknown:
        raise ConfigError(
            f"{source.folder / CONFIG_FILE}: policy type {source.type} has no setting {', '.join(unknown)} in any "
            f"LeRobot up to {NEWEST}: what it changes is unknown; take a newer Tendon, or remove it if it is about "
            "training alone"
        )
    return {name: value for name, value in source.config.items() if name not in inert}


def is_from_0_5(source: LeRobotSource) -> bool:
    """Whether LeRobot 0.5.0 or newer saved a policy. No file says so, but each version leaves a trace.

    Some conventions changed with it, and a policy is answered in those that it was trained in:

    - pi0, pi0.5: images are padded with black (before, with -3 where black is -1). The language model's embeddings are
      saved beside its head, which they were tied to.
    - pi0.5: the prompt spells the state as it is (before, padded to 32 numbers).
    - SmolVLA: a patch of an image is at its own place, see `smolvla`.
    """
    traces = [name for name in ("pretrained_revision", "use_relative_actions") if name in source.config]
    untied = any(name.endswith(_EMBEDDINGS) for name in tensor_shapes(source.weights))
    return bool(traces) or untied or "cudnn_deterministic" in (_training(source) or {})


def is_from_0_3(source: LeRobotSource) -> bool:
    """Whether LeRobot 0.3 or older saved it: there were no processors."""
    return PREPROCESSOR_FILE not in source.digests


def is_of_doubtful_age(source: LeRobotSource) -> bool:
    """Whether 0.4 and 0.5 could have saved it, and it matters: a SmolVLA without the file that training leaves."""
    known = is_from_0_3(source) or is_from_0_5(source) or _training(source) is not None
    return source.type == "smolvla" and not known


def _training(source: LeRobotSource) -> dict[str, Any] | None:
    path = source.folder / TRAIN_CONFIG_FILE
    return read_json_object(path) if path.is_file() else None

"""Builds LeRobot's own policy from a directory that was read: its classes, its configuration, these weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tendon.core.errors import ConfigError
from tendon.policies.export.lerobot.packages import lerobot_module
from tendon.policies.export.lerobot.source import CONFIG_FILE, LeRobotSource, is_old_statistic
from tendon.policies.export.lerobot.versions import inert_fields, known_settings
from tendon.policies.export.weights import build_with_weights

CLASSES = {"act": "ACT", "diffusion": "Diffusion", "pi0": "PI0", "pi05": "PI05", "smolvla": "SmolVLA"}
"""Prefix of LeRobot's `...Config` and `...Policy`."""

_OFFLINE = {"device": "cpu", "pretrained_backbone_weights": None, "compile_model": False}
"""Set in any configuration that has them: the weights come from the directory, and torch.compile cannot be exported."""

REFUSALS = (ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)
"""What LeRobot raises of values that it does not check."""


def lerobot_config(source: LeRobotSource, overrides: Mapping[str, Any] | None = None) -> Any:
    """Returns LeRobot's configuration object.

    Raises:
        ConfigError: LeRobot does not accept `config.json`, or it has a field that no LeRobot has, see
            `known_settings`.
        MissingDependencyError: see `lerobot_module`.
    """
    kind = _config_class(source)
    draccus = lerobot_module("configs.policies").draccus
    offline = {name: value for name, value in _OFFLINE.items() if name in kind.__dataclass_fields__}
    settings = known_settings(source, kind.__dataclass_fields__)
    try:
        return draccus.decode(kind, {**settings, **offline, **(overrides or {})})
    except (draccus.utils.DraccusException, *REFUSALS) as error:
        raise ConfigError(f"LeRobot refuses {source.folder / CONFIG_FILE}: {_reason(error)}") from error


def left_out(source: LeRobotSource) -> tuple[str, ...]:
    """Returns the fields of a newer LeRobot's `config.json` that change nothing and are left out."""
    return inert_fields(source, _config_class(source).__dataclass_fields__)


def lerobot_policy(source: LeRobotSource) -> Any:
    """Returns LeRobot's policy in evaluation mode with the directory's weights, in float32 on the CPU.

    Raises:
        ConfigError: LeRobot does not accept the configuration, or the weights are not those of such a policy.
        IntegrityError: the weights are truncated, altered or not finite.
        MissingDependencyError: see `lerobot_module`.
    """
    config = lerobot_config(source)
    kind = getattr(lerobot_module(f"policies.{source.type}.modeling_{source.type}"), f"{CLASSES[source.type]}Policy")

    def build() -> Any:
        try:
            return kind(config)
        except REFUSALS as error:
            raise ConfigError(f"LeRobot refuses {source.folder / CONFIG_FILE}: {error}") from error

    return build_with_weights(build, source.weights, _weight_name)


def _reason(error: BaseException) -> str:
    """Returns what draccus says of a value. Of a null it mixes up the path and the message, and prints it in pieces."""
    error = error.__cause__ or error
    path, message = getattr(error, "key_path", None), getattr(error, "message", None)
    if isinstance(path, str) and isinstance(message, list | tuple):
        return f"{'.'.join(map(str, message))} is null: {path}"
    return str(error)


def _config_class(source: LeRobotSource) -> Any:
    module = lerobot_module(f"policies.{source.type}.configuration_{source.type}")
    return getattr(module, f"{CLASSES[source.type]}Config")


def _weight_name(name: str) -> str | None:
    """Returns the module's name of a weight: without what torch.compile adds; `None` for a statistic."""
    return None if is_old_statistic(name) else name.replace("._orig_mod", "")

"""The message type of a stop input: whether it is installed, and whether its field can have what permits motion."""

from __future__ import annotations

import importlib
from typing import Any

from tendon.core.checks import closest
from tendon.core.errors import ConfigError
from tendon.robots.profile_parts import StopInput


class NotInstalledError(ConfigError):
    """The package of a message type is not on this machine; it may be on the robot's."""


def type_parts(spec: StopInput) -> tuple[str, str]:
    """Returns the package and the name of an input's messages."""
    package, *_, name = spec.type.split("/")
    return package, name


def message_type(spec: StopInput) -> Any:
    """Returns the type of an input's messages; its field is there and can have the values that permit motion.

    Raises:
        NotInstalledError: the package of the type is not installed.
        ConfigError: the package has no such type, the type no such field, or the field is of another kind.
    """
    package, name = type_parts(spec)
    try:
        messages = importlib.import_module(f"{package}.msg")
    except ImportError as error:
        raise NotInstalledError(
            f"stop input {spec.name}: type is {spec.type}, which is not installed ({error}): install its package, or "
            "source the workspace that has it"
        ) from error
    kind = getattr(messages, name, None)
    if kind is None:
        known = [each for each in dir(messages) if each[0].isupper()]
        raise ConfigError(
            f"stop input {spec.name}: type is {spec.type}: {package} has no message {name}{closest(name, known)}"
        )
    value = kind()
    for part in spec.field.split("."):
        known = list(value.get_fields_and_field_types()) if hasattr(value, "get_fields_and_field_types") else []
        if part not in known:
            raise ConfigError(f"stop input {spec.name}: {spec.type} has no field {spec.field}{closest(part, known)}")
        value = getattr(value, part)
    wanted = type(spec.permits[0])
    if type(value) is not wanted:
        raise ConfigError(
            f"stop input {spec.name}: {spec.field} of {spec.type} is of type {type(value).__name__}, but permits has "
            f"{spec.permits[0]!r}, of type {wanted.__name__}"
        )
    return kind

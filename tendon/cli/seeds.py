"""Ranges of scenes, as options name them."""

from __future__ import annotations

from tendon.core.errors import ConfigError


def parse_seeds(text: str, low: int, high: int, name: str = "--seeds") -> range:
    """Returns FIRST:END as a range; `name` says where it is written.

    Raises:
        ConfigError: not two numbers, empty, or outside [low, high].
    """
    first, _, end = text.partition(":")
    if not (text.isascii() and first.isdigit() and end.isdigit()) or not low <= int(first) < int(end) <= high:
        raise ConfigError(f"{name} is {text}, must be FIRST:END with {low} <= FIRST < END <= {high}")
    return range(int(first), int(end))

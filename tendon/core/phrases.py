"""Messages for people: when two say the same, and how much of a list is said."""

from __future__ import annotations

import re
from collections.abc import Sequence

NAMES, CHARACTERS = 48, 40
"""Of a list that is said, and of each name in it."""
TEXT, TEXTS = 400, 1200
"""Characters of a text that somebody else wrote, and of several in a row: each is said and looked at many times."""
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


def without_numbers(text: str) -> str:
    """Returns a text with `#` for each number: two that differ in nothing else say the same."""
    return _NUMBER.sub("#", text)


def said_briefly(names: Sequence[str]) -> str:
    """Returns a list of names in words, and only the beginning of one that is too long to be read."""
    shown = ", ".join(name[:CHARACTERS] for name in names[:NAMES])
    return shown if len(names) <= NAMES else f"{shown} and {len(names) - NAMES} more"


def beginning(text: str, characters: int = TEXT) -> str:
    """Returns a text that somebody else wrote, and only its beginning when it is too long to be read.

    It has no more than that many characters in all, so that one that was cut before stays as it is.
    """
    if len(text) <= characters:
        return text
    rest = f"... of {len(text)} characters"
    return f"{text[: characters - len(rest)]}{rest}"

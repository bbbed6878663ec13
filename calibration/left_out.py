"""Pictures that show no board: said once for each reason, not once for each picture."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

Reasons = Sequence[tuple[str, str]]
"""Pictures by name, and why each was left out: a sentence that begins with its name."""
NUMBER = re.compile(r"\d+(\.\d+)?")


def grouped(reasons: Reasons) -> list[list[tuple[str, str]]]:
    """Returns the pictures by their reason, the most frequent first; numbers in a sentence make no difference."""
    groups: dict[str, list[tuple[str, str]]] = {}
    for name, why in reasons:
        groups.setdefault(NUMBER.sub("#", why.removeprefix(name)), []).append((name, why))
    return sorted(groups.values(), key=len, reverse=True)


def left_out_lines(reasons: Reasons) -> list[str]:
    """Returns a line for each reason."""
    return [f"left out: {_several(group)}" for group in grouped(reasons)]


def _several(group: Sequence[tuple[str, str]]) -> str:
    (_, why), *more = group
    return why if not more else f"{why} (and {len(more)} more: {_names(name for name, _ in more)})"


def _names(names: Iterable[str]) -> str:
    first, *rest = names
    return f"{first} to {rest[-1]}" if len(rest) > 2 else ", ".join([first, *rest])

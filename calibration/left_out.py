"""Pictures that show no board: said once for each reason, not once for each picture."""

from __future__ import annotations

import re
from collections.abc import Iterable

NUMBER = re.compile(r"\d+(\.\d+)?")


class LeftOut:
    """Collects them."""

    def __init__(self) -> None:
        self._groups: dict[str, list[tuple[str, str]]] = {}

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self._groups)

    def add(self, picture: str, why: str) -> None:
        """Takes the name of one and why it shows none: a sentence; numbers in it make no other reason."""
        self._groups.setdefault(NUMBER.sub("#", why.removeprefix(picture)), []).append((picture, why))

    @property
    def usual(self) -> str:
        """The sentence of a picture with the most frequent reason; there has to be one."""
        return self._sorted()[0][0][1]

    def lines(self) -> list[str]:
        """Returns a line for each reason, the most frequent first."""
        return [f"left out: {_several(group)}" for group in self._sorted()]

    def _sorted(self) -> list[list[tuple[str, str]]]:
        return sorted(self._groups.values(), key=len, reverse=True)


def _several(group: list[tuple[str, str]]) -> str:
    (_, why), *more = group
    return why if not more else f"{why} (and {len(more)} more: {_names(name for name, _ in more)})"


def _names(names: Iterable[str]) -> str:
    first, *rest = names
    return f"{first} to {rest[-1]}" if len(rest) > 2 else ", ".join([first, *rest])

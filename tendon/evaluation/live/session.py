"""A blind session: which policy has which turn, and what came of it, in a file that a session goes on from."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, cast

import numpy as np

from tendon.core.checks import check_count
from tendon.core.config import build
from tendon.core.errors import ConfigError
from tendon.core.fields import Count, Range, check_fields
from tendon.core.json_lines import open_json_lines, read_json_lines

SIDES = "A", "B"
ADDED = ("digests", "limit_s")
"""Settings that old files do not tell."""
REPEATED = "repeated"
FRESH_BITS = 32
"""Of a seed that nobody named."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What a session is.

    Attributes:
        a, b: the two policies, as the graph names them.
        tasks: instructions, which take turns.
        pairs: how often both try; the same task, one after the other.
        seed: of the order in which they do.
        digests: of the policies' bundles, as far as they are known.
        limit_s: how long a turn may take.

    Raises:
        ConfigError: pairs or seed is no whole number in its range.
    """

    a: str
    b: str
    tasks: tuple[str, ...]
    pairs: Count
    seed: Annotated[int, Range(least=0)]
    digests: tuple[str, ...] = ()
    limit_s: Annotated[float, Range(above=0)] = 60.0

    def __post_init__(self) -> None:
        check_fields(self, "session")

    def turns(self) -> list[tuple[int, str, str]]:
        """Returns for each turn its pair, the side whose it is, and the instruction.

        Of every two pairs that follow each other one begins with A and one with B; which one is drawn.
        """
        rng = np.random.default_rng([self.seed, 31])
        found = list[tuple[int, str, str]]()
        for pair in range(self.pairs):
            if pair % 2 == 0:
                first = int(rng.integers(2))
            task = self.tasks[pair % len(self.tasks)]
            found += [(pair, SIDES[side], task) for side in (first, 1 - first)]
            first = 1 - first
        return found

    def policy(self, side: str) -> str:
        """Returns which policy a side is."""
        return self.a if side == SIDES[0] else self.b


@dataclass(frozen=True, kw_only=True)
class Turn:
    """What came of a turn, as the operator saw it.

    Attributes:
        number: of the turn, from 0.
        seed: of its pair.
        side: "A" or "B".
        family, instruction: the task in words.
        success: it was done.
        progress: how much of it.
        duration_s: until the operator judged it.
        stop: why the robot stopped; empty when it did not.
        robot: its profile, as the graph said; empty in old files.
    """

    number: int
    seed: int
    side: str
    family: str
    instruction: str
    success: bool
    progress: Annotated[float, Range(least=0, most=1)]
    duration_s: float
    stop: str = ""
    robot: str = ""

    def __post_init__(self) -> None:
        check_fields(self, "turn")


class Session:
    """Turns in a file, each there as soon as it was judged.

    Args:
        file: JSON lines; the first one has the settings. A file that is there is gone on from.
        settings: of the session.

    Attributes:
        turns: that were judged.
        repeated: numbers of turns that were had again, once for each time.

    Raises:
        ConfigError: the file is of another session, or cannot be read.
    """

    def __init__(self, file: Path, settings: Settings) -> None:
        self._file, self.settings = file, settings
        self.turns: list[Turn] = []
        self.repeated: list[int] = []
        if _is_begun(file):
            self._read()
        else:
            file.parent.mkdir(parents=True, exist_ok=True)
            self._add({"session": asdict(settings)})

    def _read(self) -> None:
        said, lines = _begun(self._file)
        mine = json.loads(json.dumps(asdict(self.settings)))
        for key, value in mine.items():
            if said.get(key, value if key in ADDED else None) != value:
                raise ConfigError(
                    f"{self._file} is of a session whose {key} is {said.get(key)!r}, this one's is {value!r}: "
                    "take another --session"
                )
        planned = self.settings.turns()
        self.repeated = [number for line in lines if (number := _repeated(line, len(planned))) is not None]
        judged = [line for line in lines if _repeated(line, len(planned)) is None]
        self.turns = [build(Turn, f"{self._file} turn {number}", line) for number, line in enumerate(judged)]
        if len(self.turns) > len(planned):
            raise ConfigError(
                f"{self._file} has {len(self.turns)} turns, this session plans {len(planned)}: was it edited? take "
                "another --session"
            )
        for number, (turn, (pair, side, task)) in enumerate(zip(self.turns, planned, strict=False)):
            if (turn.number, turn.seed, turn.side, turn.instruction) != (number, pair, side, task):
                raise ConfigError(
                    f"{self._file}: turn {number} is not what this session plans: was it edited, or begun by another "
                    "version? take another --session"
                )

    @property
    def next(self) -> tuple[int, int, str, str] | None:
        """The next turn: its number, pair, side and instruction; `None` when all are over."""
        planned, number = self.settings.turns(), len(self.turns)
        return None if number >= len(planned) else (number, *planned[number])

    @property
    def robot(self) -> str:
        """The profile of the robot that had the turns, as the graph said; empty before any."""
        return self.turns[0].robot if self.turns else ""

    def take(self, turn: Turn) -> None:
        """Writes a turn down."""
        self._add(asdict(turn))
        self.turns.append(turn)

    def repeat(self, number: int) -> None:
        """Writes down that a turn is to be had again: who repeats one side's turns more often finds it better."""
        self._add({REPEATED: number})
        self.repeated.append(number)

    def repeats(self) -> dict[str, int]:
        """Returns how often turns of each side were repeated."""
        sides = [side for _, side, _ in self.settings.turns()]
        return {side: sum(sides[number] == side for number in self.repeated) for side in SIDES}

    def pairs(self) -> list[tuple[Turn, Turn]]:
        """Returns A's and B's turn of each pair that both have had."""
        by_pair: dict[int, dict[str, Turn]] = {}
        for turn in self.turns:
            by_pair.setdefault(turn.seed, {})[turn.side] = turn
        return [(found["A"], found["B"]) for _, found in sorted(by_pair.items()) if len(found) == len(SIDES)]

    def _add(self, line: Mapping[str, Any]) -> None:
        with open_json_lines(self._file) as file:
            file.write(json.dumps(line) + "\n")
            file.flush()
            os.fsync(file.fileno())


def session_seed(file: Path) -> int:
    """Returns the seed of the session that a file is of; a fresh one where there is none.

    Raises:
        ConfigError: the file is no session.
    """
    if not _is_begun(file):
        return secrets.randbits(FRESH_BITS)
    said, _ = _begun(file)
    seed = said.get("seed")
    check_count(f"{file}: seed", seed, least=0)
    return cast(int, seed)


def _repeated(line: Any, count: int) -> int | None:
    """Returns the turn that a line says was repeated; `None` for another line."""
    number = line.get(REPEATED) if isinstance(line, dict) and set(line) == {REPEATED} else None
    return number if isinstance(number, int) and 0 <= number < count else None


def _is_begun(file: Path) -> bool:
    return file.exists() and file.stat().st_size > 0


def _begun(file: Path) -> tuple[dict[str, Any], list[Any]]:
    """Returns the settings that a file says, and its turns."""
    try:
        first, *turns = read_json_lines(file)
        return dict(first["session"]), turns
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"{file} is no session: move it away, or take another --session") from error


def check_tasks(tasks: Sequence[str]) -> tuple[str, ...]:
    """Returns the tasks of a session.

    Raises:
        ConfigError: there are none, or one is empty.
    """
    found = tuple(task.strip() for task in tasks)
    if not found or not all(found):
        raise ConfigError('name the tasks, each by --task "lift the red cube"')
    return found

"""A blind session: which policy has which turn, and what came of it, in a file that a session goes on from."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from tendon.core.config import build
from tendon.core.errors import ConfigError
from tendon.core.fields import Range, check_fields
from tendon.core.json_lines import read_json_lines

SIDES = "A", "B"


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What a session is.

    Attributes:
        a, b: the two policies, as the graph names them.
        tasks: instructions, which take turns.
        pairs: how often both try; the same task, one after the other.
        seed: of the order in which they do.
    """

    a: str
    b: str
    tasks: tuple[str, ...]
    pairs: int
    seed: int

    def turns(self) -> list[tuple[int, str, str]]:
        """Returns for each turn its pair, the side whose it is, and the instruction."""
        rng = np.random.default_rng([self.seed, 31])
        found = []
        for pair in range(self.pairs):
            task = self.tasks[pair % len(self.tasks)]
            found += [(pair, SIDES[int(side)], task) for side in rng.permutation(2)]
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

    Raises:
        ConfigError: the file is of another session, or cannot be read.
    """

    def __init__(self, file: Path, settings: Settings) -> None:
        self._file, self.settings = file, settings
        self.turns: list[Turn] = []
        if file.exists() and file.stat().st_size:
            self._read()
        else:
            file.parent.mkdir(parents=True, exist_ok=True)
            self._add({"session": asdict(settings)})

    def _read(self) -> None:
        try:
            lines = read_json_lines(self._file)
            said = dict(lines[0]["session"])
        except (ValueError, KeyError, TypeError) as error:
            raise ConfigError(f"{self._file} is no session: move it away, or take another --session") from error
        mine = json.loads(json.dumps(asdict(self.settings)))
        for key, value in mine.items():
            if said.get(key) != value:
                raise ConfigError(
                    f"{self._file} is of a session whose {key} is {said.get(key)!r}, this one's is {value!r}: "
                    "take another --session"
                )
        self.turns = [build(Turn, f"{self._file} turn {number}", line) for number, line in enumerate(lines[1:])]
        planned = self.settings.turns()
        for turn, (pair, side, task) in zip(self.turns, planned, strict=False):
            if (turn.seed, turn.side, turn.instruction) != (pair, side, task):
                raise ConfigError(f"{self._file}: turn {turn.number} is not what this session plans: was it edited?")

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

    def pairs(self) -> list[tuple[Turn, Turn]]:
        """Returns A's and B's turn of each pair that both have had."""
        by_pair: dict[int, dict[str, Turn]] = {}
        for turn in self.turns:
            by_pair.setdefault(turn.seed, {})[turn.side] = turn
        return [(found["A"], found["B"]) for _, found in sorted(by_pair.items()) if len(found) == len(SIDES)]

    def _add(self, line: Mapping[str, Any]) -> None:
        with self._file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
            file.flush()
            os.fsync(file.fileno())


def check_tasks(tasks: Sequence[str]) -> tuple[str, ...]:
    """Returns the tasks of a session.

    Raises:
        ConfigError: there are none, or one is empty.
    """
    found = tuple(task.strip() for task in tasks)
    if not found or not all(found):
        raise ConfigError('name the tasks, each by --task "lift the red cube"')
    return found

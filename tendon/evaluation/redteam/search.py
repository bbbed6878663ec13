"""CMA-ES (Hansen 2016, library `cma`) over attacks, whose log is all it takes to go on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from tendon.core.checks import check_count, check_number
from tendon.core.config import build
from tendon.core.errors import ConfigError, MissingDependencyError
from tendon.core.json_lines import open_json_lines, read_json_lines
from tendon.core.types import Array
from tendon.evaluation.pool import Job
from tendon.evaluation.redteam.attack import Attack, Space, judged, try_attack
from tendon.evaluation.workers import Workers

SPREAD = 0.3
"""Of the first generation, as a share of each range."""


class Search:
    """Tries attacks, generation by generation; each is in the log as soon as it has ended.

    The search is deterministic: with the log of a run that was cut it is asked for the same points again, and goes on
    behind the last one. What is being tried when it is cut is tried anew.

    Args:
        space: what it may choose.
        like: what all jobs have in common.
        log: file of attacks, one a line; the first line says what is searched.
        size: attacks in a generation.
        seed: of the search.
        said: what the log's first line must hold besides, so that no other search goes on from it.

    Raises:
        ConfigError: the log is of another search, or damaged.
        MissingDependencyError: `cma` is not installed.
    """

    def __init__(self, space: Space, like: Job, log: Path, *, size: int, seed: int, said: dict[str, Any]) -> None:
        self._cma = _library()
        self._space, self._like, self._log, self._size, self._seed = space, like, log, size, seed
        head = {**said, "scenes": list(space.scenes), "axes": list(space.axes), "most": space.most}
        head |= {"size": size, "seed": seed}
        self.known = _read(log, head)
        if not log.exists():
            log.parent.mkdir(parents=True, exist_ok=True)
            log.write_text(json.dumps(head) + "\n", encoding="utf-8")

    def run(self, count: int, workers: int) -> Iterator[Attack]:
        """Yields attacks until there are so many, those of the log first.

        Args:
            count: of all generations; the last one is finished.
            workers: processes.
        """
        strategy = self._strategy()
        tried = 0
        with Workers(_numbered, workers) as processes:
            while tried < count:
                points = [np.asarray(point) for point in strategy.ask()]
                attacks = dict[int, Attack]()
                for number, attack in self._generation(tried, points, processes):
                    attacks[number] = attack
                    yield attack
                tried += len(points)
                strategy.tell(points, [attacks[k].badness for k in range(len(points))])

    def _generation(
        self, first: int, points: list[Array], processes: Workers[Any, Any]
    ) -> Iterator[tuple[int, Attack]]:
        jobs = [self._space.job(point, self._like) for point in points]
        missing = []
        for number, (point, job) in enumerate(zip(points, jobs, strict=True)):
            known = self.known.get(first + number)
            if known is None:
                missing.append((number, job))
            elif not np.allclose(known.point, point, atol=1e-9):
                raise ConfigError(
                    f"{self._log}: attack {first + number} is not what this search tries: take another --out"
                )
            else:
                yield number, known
        with open_json_lines(self._log) as file:
            for number, job, came in processes.run(missing):
                attack = judged(self._space, points[number], job, came)
                self.known[first + number] = attack
                file.write(json.dumps({"number": first + number, **asdict(attack)}) + "\n")
                file.flush()
                yield number, attack

    def _strategy(self) -> Any:
        last, axes = len(self._space.scenes) - 1, len(self._space.axes)
        options = {
            "bounds": [[0.0] * (1 + axes), [max(last, 1e-9), *[1.0] * axes]],
            "CMA_stds": [SPREAD * max(last, 1.0), *[SPREAD] * axes],
            "integer_variables": [0],
            "popsize": self._size,
            "seed": self._seed + 1,  # 0 would be the time
            "verbose": -9,
            "verb_log": 0,
        }
        return self._cma.CMAEvolutionStrategy([last / 2, *[0.5] * axes], 1.0, options)


def _library() -> Any:
    try:
        import cma
    except ImportError as error:
        raise MissingDependencyError("the search needs cma: pip install 'tendon-vla[redteam]'") from error
    return cma


def _numbered(task: tuple[int, Job]) -> tuple[int, Job, Any]:
    number, job = task
    return (number, *try_attack(job))


def _read(log: Path, head: dict[str, Any]) -> dict[int, Attack]:
    """Returns what was tried, by number.

    Raises:
        ConfigError: the log is of another search, or damaged.
    """
    if not log.exists():
        return {}
    try:
        told, *rows = read_json_lines(log)
        told = dict(told)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{log} is no log of a search: move it away, or take another --out") from error
    for key in sorted(set(head) | set(told)):
        if head.get(key) != told.get(key):
            raise ConfigError(
                f"{log} is of a search whose {key} is {told.get(key)!r}, this one's is {head.get(key)!r}: take another "
                "--out"
            )
    found = dict[int, Attack]()
    for line, row in enumerate(rows, start=2):
        try:
            number, attack = _tried(row, 1 + len(head["axes"]))
        except ConfigError as error:
            raise ConfigError(
                f"{log} line {line} is no attack ({error}): move it away, or take another --out"
            ) from error
        found[number] = attack
    return found


def _tried(row: Any, size: int) -> tuple[int, Attack]:
    """Returns an attack of `size` numbers as the log has it, with its number."""
    if not isinstance(row, dict) or "number" not in row:
        raise ConfigError("it has no number")
    check_count("number", number := row["number"], least=0)
    attack = build(Attack, "attack", {name: value for name, value in row.items() if name != "number"})
    if not isinstance(attack.point, tuple) or len(attack.point) != size:
        raise ConfigError(f"point is {attack.point!r}, must be {size} numbers")
    for each in attack.point:
        check_number("a number of point", each)
    if not isinstance(attack.perturbations, dict):
        raise ConfigError(f"perturbations is {attack.perturbations!r}, must be a mapping")
    for name, strength in attack.perturbations.items():
        check_number(f"perturbation {name}", strength)
    return number, attack

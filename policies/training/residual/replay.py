"""What was experienced, ready to be learned from."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

Rows = npt.NDArray[np.float32]
FIRST_ROOM = 4096


@dataclass(frozen=True, kw_only=True, eq=False)
class Batch:
    """B transitions over up to n steps.

    Attributes:
        seen, facts, action: (B, Z), (B, F), (B, A) at the first step.
        reward: (B,) discounted sum until the last step.
        seen_after, facts_after: after the last step.
        discount: (B,) of the value after the last step; 0 where the episode is over.
        kept: (B,) 1 where the base is to be left as it is, else 0.
    """

    seen: Tensor
    facts: Tensor
    action: Tensor
    reward: Tensor
    seen_after: Tensor
    facts_after: Tensor
    discount: Tensor
    kept: Tensor

    def to(self, device: torch.device) -> Batch:
        """Returns it in the memory of a device."""
        return Batch(**{each.name: getattr(self, each.name).to(device) for each in fields(self)})


class Replay:
    """Steps of episodes. Time that is up ends an episode, and the facts tell the time.

    Args:
        steps: n of a transition.
        discount: of a step.
    """

    def __init__(self, steps: int, discount: float) -> None:
        self._steps, self._discount = steps, discount
        self._columns: dict[str, Rows] = {}
        self._left = np.zeros(FIRST_ROOM, np.int32)
        self._starts: dict[bool, list[npt.NDArray[np.int64]]] = {True: [], False: []}
        self._counts = {True: 0, False: 0}
        self.size = 0

    def add(self, seen: Rows, facts: Rows, actions: Rows, rewards: Rows, success: bool, kept: bool = False) -> None:
        """Takes an episode: (T + 1, Z), (T + 1, F), (T, A) and (T,)."""
        length, first = len(actions), self.size
        rows = {"seen": seen, "facts": facts, "actions": np.concatenate([actions, actions[-1:]])}
        rows["rewards"] = np.append(rewards, 0.0)[:, None]
        rows["kept"] = np.full((length + 1, 1), float(kept))
        while first + length + 1 > len(self._left):
            self._left = np.append(self._left, 0 * self._left)
            self._columns = {name: np.append(column, 0 * column, axis=0) for name, column in self._columns.items()}
        for name, values in rows.items():
            if name not in self._columns:
                self._columns[name] = np.zeros((len(self._left), values.shape[1]), np.float32)
            self._columns[name][first : first + length + 1] = values
        self._left[first : first + length + 1] = np.arange(length, -1, -1)
        self._starts[success].append(np.arange(first, first + length))
        self._counts[success] += length
        self.size = first + length + 1

    def sample(self, count: int, rng: np.random.Generator, from_successes: float = 0.5) -> Batch:
        """Returns a batch, a part of it from episodes that succeeded."""
        won = round(count * from_successes) if self._counts[True] and self._counts[False] else 0
        everything = self._counts[True] + self._counts[False]
        picked = [self._pick(True, won, rng)] if won else []
        rest = count - won
        lucky = round(rest * self._counts[True] / everything)
        picked += [self._pick(True, lucky, rng)] if lucky else []
        picked += [self._pick(False, rest - lucky, rng)] if rest - lucky else []
        at = np.concatenate(picked)
        left = self._left[at]
        steps = np.minimum(left, self._steps)
        ends = left <= self._steps
        returned = np.zeros(len(at))
        for k in range(self._steps):
            rewards = self._columns["rewards"][at + np.minimum(k, left), 0]  # 0 after the last step
            returned += self._discount**k * rewards

        def column(name: str, rows: npt.NDArray[np.int64]) -> Tensor:
            return torch.from_numpy(self._columns[name][rows])

        def vector(values: npt.ArrayLike) -> Tensor:
            return torch.from_numpy(np.asarray(values, np.float32))

        return Batch(
            seen=column("seen", at),
            facts=column("facts", at),
            action=column("actions", at),
            reward=vector(returned),
            seen_after=column("seen", at + steps),
            facts_after=column("facts", at + steps),
            discount=vector(np.where(ends, 0.0, self._discount**steps)),
            kept=column("kept", at)[:, 0],
        )

    def _pick(self, success: bool, count: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
        """Returns rows of episodes of an outcome; several lists of rows are joined when there are many."""
        lists = self._starts[success]
        if len(lists) > 1:
            lists[:] = [np.concatenate(lists)]
        return lists[0][rng.integers(len(lists[0]), size=count)]

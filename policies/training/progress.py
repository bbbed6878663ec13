"""Trains a progress estimator on demonstrations: a policy looks at their frames, and their own time is the label.

A demonstration does its task steadily from where it begins to move to where it ends to, so the share of that time that
is over is how much of the task is done, as in value learning from demonstrations by time (Ma et al. 2024, GVL; Zhang
et al. 2025, ReWiND).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from scipy.stats import spearmanr
from torch import Tensor, nn
from torch.nn import functional

from tendon.core.errors import ConfigError
from tendon.core.stamps import SECOND_NS
from tendon.core.types import Array
from tendon.policies.inference.policy import BundlePolicy
from tendon.policies.progress.estimator import PROGRESS, SEEN, seen_by_estimator
from tendon.policies.training.dense_graph import dense_graph
from tendon.policies.training.projection import Projection, find_projection
from tendon.policies.training.recorded import Episodes

EVERY_NS = SECOND_NS // 5
"""Between frames that are looked at."""
RESTS_NS = 300_000_000
"""A task that was done before the next one was told ended so long after its last motion at least."""
MOVED = 0.01
"""By so much [rad or m] a joint's target has left where it began, or is away from where it ends."""
COMPONENTS, WIDTH, DROPOUT = 48, 128, 0.2
BATCH, RATE, DECAY = 256, 1e-3, 0.1
MOST_UPDATES, CHECK, PATIENCE = 3000, 100, 5
HELD_BACK, FEWEST = 0.15, 8
"""Share of the episodes that tell when to end, and how many there must be in all."""

Rows = npt.NDArray[np.float32]


@dataclass(frozen=True, kw_only=True, eq=False)
class Looked:
    """What a policy makes of k frames of an episode.

    Attributes:
        seen: (k, O), see `seen_by_estimator`.
        progress: (k,) share of the episode's motion that is over.
        embedding: how many of the O numbers, the last, are the policy's embedding.
    """

    seen: Rows
    progress: Rows
    embedding: int

    @property
    def content(self) -> bytes:
        """What tells it from another episode."""
        return self.seen.tobytes() + self.progress.tobytes()


@dataclass(frozen=True, kw_only=True)
class Trained:
    """What came of training.

    Attributes:
        graph: an ONNX graph that answers `PROGRESS` for `SEEN`.
        seen: O.
        episodes: that it learned from.
        error: mean absolute error on episodes held back.
        rank: Spearman's correlation there.
    """

    graph: bytes
    seen: int
    episodes: int
    error: float
    rank: float


def look(policy: BundlePolicy, episodes: Episodes, number: int) -> list[Looked]:
    """Has a policy look at an episode, without a running plan; returns a part for each of its tasks.

    A task in which the robot never moves is none, nor one that another replaced in mid-motion: nobody knows how far it
    got. That the last one was done is taken for granted: leave out what was not.

    Raises:
        InvalidDataError: see `BundlePolicy.infer`.
        InstructionError: the policy does not know a word of its instruction.
    """
    stamps_ns, _, actions = episodes.motion(number)
    spans, moving = episodes.spans(number), dict[int, tuple[int, int]]()
    for k, (begin_ns, end_ns) in enumerate(spans):
        mine = (stamps_ns >= begin_ns) & (stamps_ns < end_ns)
        part = moving_time(stamps_ns[mine], actions[mine])
        if part is not None and (k == len(spans) - 1 or end_ns - part[1] >= RESTS_NS):
            moving[k] = part
    parts = {k: (list[Array](), list[float]()) for k in moving}
    due_ns, size, k, task = 0, 0, 0, ""
    for frame in episodes.frames(number):
        if task and frame.task != task:
            k, due_ns = k + 1, 0
        task = frame.task
        begin_ns, done_ns = moving.get(k, (frame.stamp_ns + 1, 0))
        if frame.stamp_ns < max(due_ns, begin_ns):
            continue
        due_ns = frame.stamp_ns + EVERY_NS
        policy.infer(frame.observation())
        if (last := policy.last) is not None:
            parts[k][0].append(seen_by_estimator(last.state, last.points, last.embedding))
            size = 0 if last.embedding is None else len(last.embedding)
            parts[k][1].append(min((frame.stamp_ns - begin_ns) / (done_ns - begin_ns), 1.0))
    return [
        Looked(seen=np.array(rows, np.float32), progress=np.array(progress, np.float32), embedding=size)
        for rows, progress in parts.values()
        if rows
    ]


def moving_time(stamps_ns: npt.NDArray[np.int64], actions: Array) -> tuple[int, int] | None:
    """Returns when joints begin to move and when they are where they end; `None` where they do not move.

    Args:
        stamps_ns: (k,) of frames.
        actions: (k, n) where joints are told to be.
    """
    if not len(actions):
        return None
    left = np.abs(actions - actions[0]).max(axis=1) > MOVED
    away = np.abs(actions - actions[-1]).max(axis=1) > MOVED
    if not left.any() or not away.any():
        return None
    begin = max(int(np.argmax(left)) - 1, 0)
    end = len(away) - int(np.argmax(away[::-1]))  # the last one is never away from itself
    return int(stamps_ns[begin]), int(stamps_ns[max(end, begin + 1)])


class _Network(nn.Module):
    """(B, Z) what is seen -> (B,) logit of the progress."""

    def __init__(self, seen: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(seen, WIDTH), nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, 1)])

    def forward(self, seen: Tensor) -> Tensor:
        hidden = seen
        for layer in self.layers[:-1]:
            hidden = functional.dropout(functional.relu(layer(hidden)), DROPOUT, self.training)
        found: Tensor = self.layers[-1](hidden)[:, 0]
        return found


def train_estimator(looked: Sequence[Looked], seed: int = 0) -> Trained:
    """Trains an estimator; those held back tell when to end.

    Raises:
        ConfigError: there are too few episodes.
    """
    if len(looked) < FEWEST:
        raise ConfigError(f"{len(looked)} episodes are too few to train a progress estimator: give at least {FEWEST}")
    torch.manual_seed(seed)
    order = np.random.default_rng(seed).permutation(len(looked))
    back = max(1, round(HELD_BACK * len(looked)))
    kept, held = [looked[k] for k in order[back:]], [looked[k] for k in order[:back]]
    projection = find_projection(_joined(each.seen for each in kept), kept[0].embedding, COMPONENTS)
    seen, progress = _tensors(kept, projection)
    held_seen, held_progress = _tensors(held, projection)
    network = _Network(seen.shape[1])
    steps = torch.optim.AdamW(network.parameters(), lr=RATE, weight_decay=DECAY)
    best, weights, waited = np.inf, network.state_dict(), 0
    for update in range(1, MOST_UPDATES + 1):
        network.train()
        rows = torch.randint(len(seen), (BATCH,))
        loss = functional.mse_loss(torch.sigmoid(network(seen[rows])), progress[rows])
        steps.zero_grad()
        loss.backward()
        steps.step()
        if update % CHECK:
            continue
        error, waited = _error(network, held_seen, held_progress), waited + 1
        if error < best:
            best, weights, waited = error, {name: value.clone() for name, value in network.state_dict().items()}, 0
        if waited == PATIENCE:
            break
    network.load_state_dict(weights)
    with torch.no_grad():
        rank = spearmanr(network.eval()(held_seen).numpy(), held_progress.numpy()).statistic
    return Trained(
        graph=dense_graph(list(network.layers), projection, seen=SEEN, answer=PROGRESS, last="Sigmoid"),
        seen=looked[0].seen.shape[1],
        episodes=len(looked),
        error=best,
        rank=float(rank),
    )


def _joined(parts: Iterable[Rows]) -> Rows:
    return np.concatenate(list(parts))


def _tensors(looked: Sequence[Looked], projection: Projection) -> tuple[Tensor, Tensor]:
    seen, progress = _joined(each.seen for each in looked), _joined(each.progress for each in looked)
    return torch.from_numpy(projection(seen)), torch.from_numpy(progress)


@torch.no_grad()
def _error(network: _Network, seen: Tensor, progress: Tensor) -> float:
    return float((torch.sigmoid(network.eval()(seen)) - progress).abs().mean())

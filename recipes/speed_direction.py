"""Finds a direction in the context of the tabletop policy's flow along which it moves faster. No weight is changed.

Run: `python recipes/speed_direction.py --out docs/examples/speed.safetensors` (needs torch; half an hour on two cores).

Episodes on validation scenes give contexts and chunks. Two directions are made from three quarters of the scenes, and
compared on the rest:

- contrast: the difference of mean contexts of fast and slow chunks (Turner et al. 2023), once the state and where the
  chunk ends are regressed out of both, for a far target is approached fast;
- fitted: a steering vector (Subramani et al. 2022) that minimises the distance between the chunk under `a` times it,
  and the policy's own chunk passed through `exp(0.15 a)` times as fast, for `a` from -2 to 2. This one is written.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from safetensors.numpy import save_file
from torch import Tensor

from tendon.core.errors import MismatchError
from tendon.core.types import ActionChunk, Observation
from tendon.evaluation.episode import Setting
from tendon.evaluation.runner import Runner
from tendon.policies.bundle.bundle import Bundle, load_bundle
from tendon.policies.inference.policy import BundlePolicy
from tendon.policies.training.model import FLOW_STEPS, Flow
from tendon.robots.kinematics import Kinematics
from tendon.robots.profile import load_profile
from tendon.sim.backend import SimBackend
from tendon.sim.tabletop.layout import FAMILIES
from tendon.sim.tabletop.scene import sample_scene
from tendon.sim.tabletop.suite import TABLETOP

ACTIVATION = "select_5"
"""What the exporter called the context in the graph: the first part of the output `embedding`."""
CONTEXT = 384
FIRST_SEED, DELAY_NS = 100_000, 50_000_000
GAIN, REACH, BATCH, RATE = 0.15, 2.0, 96, 0.02
FINGER_WEIGHT = 0.5
LATER_ROW, SLOW = 6, 0.12


@dataclass(frozen=True, kw_only=True, eq=False)
class Recorded:
    """N inferences: context (N, K), chunk (N, T, 4) [m, from the tool], given (N, T), state (N, S), scene (N,)."""

    context: Tensor
    chunk: Tensor
    given: Tensor
    state: Tensor
    scene: Tensor


class Recorder:
    """A policy that keeps what it inferred."""

    def __init__(self, policy: BundlePolicy, kinematics: Kinematics) -> None:
        self._policy, self._kinematics = policy, kinematics
        self.step_ns, self.prefix_rows, self.overlap_rows = policy.step_ns, policy.prefix_rows, policy.overlap_rows
        self.pace = policy.pace
        self.rows: list[tuple[np.ndarray, np.ndarray, int, np.ndarray]] = []

    def infer(
        self, observation: Observation, prefix: ActionChunk | None = None, frozen: int | None = None
    ) -> ActionChunk:
        """Answers as the policy."""
        chunk = self._policy.infer(observation, prefix, frozen)
        last = self._policy.last
        assert last is not None and last.embedding is not None
        tool, _ = self._kinematics.tool_pose(observation.joint_position)
        state = np.concatenate([tool, observation.joint_position[-1:], observation.joint_velocity])
        self.rows.append((last.embedding[:CONTEXT], last.targets - np.append(tool, 0.0), last.given_rows, state))
        return chunk


def record(bundle: Bundle, robot: str, scenes: int) -> Recorded:
    """Runs episodes; those that fail are left out."""
    profile = load_profile(robot)
    recorder = Recorder(BundlePolicy(bundle, profile, threads=1), Kinematics(profile))
    runner = Runner(SimBackend(TABLETOP.world(profile)), recorder, TABLETOP.load_environment())
    rows: list[tuple[np.ndarray, np.ndarray, int, np.ndarray]] = []
    seeds: list[int] = []
    for seed in range(FIRST_SEED, FIRST_SEED + scenes):
        recorder.rows = []
        episode = runner.run(sample_scene(seed), Setting(delay_ns=DELAY_NS))
        print(f"scene {seed}: {episode.family}, success {episode.success}, {len(recorder.rows)} inferences", flush=True)
        if episode.success:
            rows += recorder.rows
            seeds += [seed] * len(recorder.rows)
    context, chunk, count, state = (
        torch.tensor(np.array(column), dtype=torch.float32) for column in zip(*rows, strict=True)
    )
    given = (torch.arange(chunk.shape[1]) < count[:, None]).float()
    return Recorded(context=context, chunk=chunk, given=given, state=state, scene=torch.tensor(seeds))


class Head:
    """The flow of a bundle's graph in torch, its weights frozen."""

    def __init__(self, bundle: Bundle) -> None:
        graph = onnx.load_from_string(bundle.content[bundle.manifest.model]).graph
        weights = {each.name: torch.tensor(numpy_helper.to_array(each)) for each in graph.initializer}
        action = bundle.manifest.action
        self._flow = Flow(action.rows, len(action.mean), CONTEXT)
        part = {name.removeprefix("model.flow."): value for name, value in weights.items() if "model.flow." in name}
        self._flow.load_state_dict({"frequency": self._flow.frequency, **part})
        self._flow.requires_grad_(False)
        self._scale, self._shift = weights["scale"], weights["shift"]
        self._mean, self._std = torch.tensor(action.mean), torch.tensor(action.std)

    def chunk(self, context: Tensor, chunk: Tensor, given: Tensor) -> Tensor:
        """Returns (N, T, 4) under (N, K), which continues the given rows of `chunk` [m, from the tool]."""
        keep = given[..., None]
        prefix = (chunk - self._mean) / self._std * self._scale + self._shift
        made = torch.zeros_like(prefix)
        for step in range(FLOW_STEPS):
            made = keep * prefix + (1 - keep) * made
            time = torch.full((len(made), 1), step / FLOW_STEPS)
            made = made + self._flow(made, given, time, context) / FLOW_STEPS
        made = keep * prefix + (1 - keep) * made
        return (made - self._shift) / self._scale * self._std + self._mean


def passed_through(chunk: Tensor, given: Tensor, rate: Tensor) -> tuple[Tensor, Tensor]:
    """Returns the chunk at other times: `rate` (N,) times as fast after its given rows; and which rows are known."""
    now = torch.cat([torch.zeros_like(chunk[:, :1, :3]), chunk[:, :1, 3:]], dim=-1)
    points = torch.cat([now, chunk], dim=1)
    count, row = given.sum(1, keepdim=True), torch.arange(float(chunk.shape[1]))[None]
    at = torch.where(row < count, row + 1, count + (row + 1 - count) * rate[:, None])
    known = (at <= chunk.shape[1]).float()
    at = at.clamp(max=chunk.shape[1] - 1e-4)
    index = at.floor().long()[..., None].expand(-1, -1, chunk.shape[2])
    before, after = torch.gather(points, 1, index), torch.gather(points, 1, index + 1)
    return before + (after - before) * (at - at.floor())[..., None], known


def fit(head: Head, data: Recorded, steps: int) -> Tensor:
    """Returns the fitted direction, (K,) for one unit."""
    direction = torch.zeros(CONTEXT, requires_grad=True)
    optimizer = torch.optim.Adam([direction], lr=RATE)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    weight = torch.tensor([1.0, 1.0, 1.0, FINGER_WEIGHT])
    generator = torch.Generator().manual_seed(0)
    for step in range(steps):
        chosen = torch.randperm(len(data.context), generator=generator)[:BATCH]
        chunk, given = data.chunk[chosen], data.given[chosen]
        amount = (torch.rand(len(chosen), generator=generator) * 2 - 1) * REACH
        wanted, known = passed_through(chunk, given, torch.exp(GAIN * amount))
        made = head.chunk(data.context[chosen] + amount[:, None] * direction, chunk, given)
        errors, whole = ((((each - wanted) * weight) ** 2 * known[..., None]).sum() for each in (made, chunk))
        loss = errors / whole
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if step % 20 == 0:
            print(f"step {step}: {100 * loss.item():.0f} % of the wanted change is missing", flush=True)
    return direction.detach()


def contrast(data: Recorded) -> Tensor:
    """Returns the difference of means, as long as contexts spread along it."""
    pace, end = speed(data.chunk), data.chunk[:, -1, :3]
    told = torch.cat([torch.ones(len(pace), 1), data.state, end, end.norm(dim=1, keepdim=True)], dim=1)
    rest = [each - told @ torch.linalg.lstsq(told, each).solution for each in (pace[:, None], data.context)]
    slowest, fastest = rest[0].quantile(0.25), rest[0].quantile(0.75)
    away = rest[1][rest[0][:, 0] > fastest].mean(0) - rest[1][rest[0][:, 0] < slowest].mean(0)
    away = away / away.norm()
    return away * (data.context @ away).std()


def speed(chunk: Tensor) -> Tensor:
    """Returns (N,) mean speeds of the first rows [m/s]."""
    return (chunk[:, 1:9, :3] - chunk[:, :8, :3]).norm(dim=-1).mean(1) / 0.1


def compare(head: Head, data: Recorded, name: str, direction: Tensor) -> None:
    """Prints what a direction does to chunks that move: their speed, and how far they leave their line."""
    data = select(data, speed(data.chunk) > SLOW)
    line = data.chunk[:, LATER_ROW, :3]
    line = line / line.norm(dim=1, keepdim=True)
    for amount in (-2.0, -1.0, 1.0, 2.0):
        made = head.chunk(data.context + amount * direction, data.chunk, data.given)
        ratio = torch.log(speed(made) / speed(data.chunk))
        moved = (made - data.chunk)[:, LATER_ROW, :3]
        aside = (moved - (moved * line).sum(1, keepdim=True) * line).norm(dim=1)
        right = (ratio.sign() == np.sign(amount)).float().mean()
        print(
            f"{name:8s} {amount:+g}: speed {100 * (ratio.mean().exp() - 1):+.1f} %, in the right sense in "
            f"{100 * right:.0f} % of {len(ratio)} chunks, {1e3 * aside.mean():.1f} mm aside after {LATER_ROW + 1} rows"
        )


def select(data: Recorded, which: Tensor) -> Recorded:
    """Returns some of the inferences."""
    return Recorded(**{name: value[which] for name, value in vars(data).items()})


def main() -> None:
    """Records, finds, compares, writes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle", nargs="?", type=Path, default=Path("bundles/tabletop"), help="(%(default)s)")
    parser.add_argument("--scenes", type=int, default=60, help="validation scenes (%(default)s)")
    parser.add_argument("--steps", type=int, default=200, help="of the fit (%(default)s)")
    parser.add_argument("--out", type=Path, default=Path("outputs/speed.safetensors"), help="(%(default)s)")
    options = parser.parse_args()
    torch.manual_seed(0)
    bundle = load_bundle(options.bundle)
    data, head = record(bundle, "panda", options.scenes), Head(bundle)
    off = float((head.chunk(data.context, data.chunk, data.given) - data.chunk).abs().max())
    if not off < 1e-4:
        raise MismatchError(
            f"the flow in torch answers {off:.2g} m beside the graph: has {ACTIVATION} another name now?"
        )
    held_out = data.scene // len(FAMILIES) % 4 == 0  # whole rounds of the families: each is in both parts
    train, test = select(data, ~held_out), select(data, held_out)
    directions = {"contrast": contrast(train), "fitted": fit(head, train, options.steps)}
    for name, direction in directions.items():
        compare(head, test, name, direction)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    save_file({ACTIVATION: directions["fitted"].numpy()}, options.out)
    print(f"{options.out}: {len(train.context)} inferences of {len(train.scene.unique())} scenes")


if __name__ == "__main__":
    main()

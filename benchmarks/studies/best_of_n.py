"""Whether the best of N answers, picked by a verifier, does for a policy what a residual does.

The shipped policy makes an answer out of noise, and is run with zeros for it. Here each training episode draws one
noise, from which all of its answers start, so that its outcome tells of that noise. A verifier (an ensemble of small
networks) learns from what was seen and answered whether the episode succeeds. On scenes that nothing saw, the policy
answers from zeros, from one noise, or from N of which the verifier picks the answer.

Each step goes on where it was cut. About 40 minutes on two idle CPU cores.

Examples:
  python benchmarks/studies/best_of_n.py
  python benchmarks/studies/best_of_n.py --episodes 24 --seeds 200000:200006 --folder /tmp/best --busy --rows /tmp/rows
"""

from __future__ import annotations

import argparse
import functools
import json
import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # benchmarks

import harness
import numpy as np
import torch
from harness.paired import success_and_change
from residual_gain import Outcomes, Scenes, kept
from rich.progress import track
from safetensors.torch import load_file, save_file
from torch.nn import functional

from tendon.cli.seeds import parse_seeds
from tendon.core.files import replace_file
from tendon.core.types import Array
from tendon.evaluation.detection.scores import roc
from tendon.evaluation.episode import Setting, Timing
from tendon.evaluation.evaluate import END_SEED, FIRST_SEED
from tendon.evaluation.pool import Tools
from tendon.evaluation.residual_rollouts import usual_setting
from tendon.evaluation.suites import load_suite
from tendon.evaluation.workers import run_in_processes
from tendon.policies.bundle.bundle import load_bundle
from tendon.policies.bundle.places import find_bundle
from tendon.policies.engines.engine import Engine
from tendon.policies.engines.graph import AroundGraph
from tendon.policies.engines.loading import Graph, Held, Tensor, load_graph
from tendon.policies.inference.policy import BundlePolicy
from tendon.policies.training.projection import Projection, find_projection, load_projection
from tendon.policies.training.residual.networks import Critics
from tendon.robots.profile import load_profile

FIRST_SCENE = 30_000
"""Of training: the residual's are those from 0 on."""
COMPONENTS, WIDTH, NETWORKS = 48, 128, 5
HELD_BACK = 0.15
"""Of the episodes: training ends where these are told best."""
BATCH, MOST_UPDATES, CHECK, PATIENCE = 256, 6000, 200, 8


class Chooser(AroundGraph):
    """A policy's graph that answers out of drawn noise; of several answers a verifier picks one.

    Args:
        graph: has an input `noise` and outputs `actions` and `embedding`.
        rows: of an answer that are carried out, at most.
    """

    def __init__(self, graph: Graph, rows: int) -> None:
        super().__init__(graph)
        self._rows = rows
        self.begin(0, 1, None)

    def begin(self, seed: int, answers: int, verifier: Verifier | None) -> None:
        """Starts an episode.

        Args:
            seed: of its noise.
            answers: to each observation.
            verifier: picks one; without it there is one answer, and all start from the same noise.
        """
        self._answers, self._verifier = answers, verifier
        self._rng = np.random.default_rng([seed, 53])
        shape: Any = self.graph.inputs["noise"].shape
        self._noise = self._rng.standard_normal(shape).astype(np.float32)
        self.seen, self.answered = list[Array](), list[Array]()
        self.embedding = 0

    def run(self, feeds: Mapping[str, Tensor | Held], hold: Collection[str] = ()) -> dict[str, Any]:
        """See `Graph`; keeps what was seen and answered."""
        if self._verifier is None:
            noises = [self._noise]
        else:
            noises = list(self._rng.standard_normal((self._answers, *self._noise.shape)).astype(np.float32))
        answers = [self.graph.run({**feeds, "noise": noise}, hold) for noise in noises]
        actions = np.array([answer["actions"][0, : self._rows].ravel() for answer in answers])
        embedding = answers[0]["embedding"]
        self.embedding = embedding.size
        parts = (feeds["state"], feeds["prefix"], feeds["prefix_rows"], embedding)
        seen = np.concatenate([np.asarray(part, np.float32).ravel() for part in parts])
        best = 0 if self._verifier is None else int(np.argmax(self._verifier.values(seen, actions)))
        self.seen.append(seen)
        self.answered.append(actions[best])
        return answers[best]


class Verifier:
    """How likely an answer to what was seen ends in success.

    Args:
        projection: of what is seen.
        networks: (B, Z + A) what is seen and answered -> (C, B) logits.
    """

    def __init__(self, projection: Projection, networks: Critics) -> None:
        self.projection, self.networks = projection, networks

    @torch.no_grad()
    def values(self, seen: Array, actions: Array) -> Array:
        """Returns (N,) for N answers to one observation: the mean of the networks less their disagreement."""
        told = np.tile(self.projection(seen), (len(actions), 1))
        logits = self.networks(torch.from_numpy(np.concatenate([told, actions], axis=1).astype(np.float32)))
        return np.asarray((logits.mean(dim=0) - logits.std(dim=0)).numpy(), np.float64)


@dataclass(frozen=True, kw_only=True)
class Try:
    """An episode to run: `answers` to each observation; a verifier, of a folder, picks among several."""

    bundle: Path
    robot: str
    suite: str
    seed: int
    answers: int
    verifier: Path | None = None
    keep: Path | None = None


@functools.lru_cache(maxsize=1)
def _open(bundle: Path, robot: str, suite: str) -> tuple[Tools, Chooser, Setting]:
    """Returns a world, a policy in it and its graph."""
    loaded, found, choosers = load_bundle(bundle), load_suite(suite), list[Chooser]()
    pace = loaded.manifest.pace

    def load(content: Mapping[str, bytes], name: str, engine: Engine | None = None, threads: int = 1) -> Graph:
        choosers.append(Chooser(load_graph(content, name, engine, threads), pace.continued_rows + pace.replan_rows))
        return choosers[-1]

    policy = BundlePolicy(loaded, load_profile(robot), threads=1, load=load)
    return Tools(found, policy, robot, Timing.AUTO, "auto"), choosers[0], usual_setting(suite)


@functools.lru_cache(maxsize=1)
def load_verifier(folder: Path) -> Verifier:
    """Returns what `train` wrote."""
    projection = load_projection(folder / "projection.safetensors")
    state = load_file(folder / "verifier.safetensors")
    networks = Critics(state["weights.0"].shape[1], WIDTH, NETWORKS)
    networks.load_state_dict(state)
    return Verifier(projection, networks)


def run(job: Try) -> tuple[Try, bool]:
    """Runs an episode; keeps what was seen and answered where it is asked to."""
    torch.set_num_threads(1)
    tools, chooser, setting = _open(job.bundle, job.robot, job.suite)
    chooser.begin(job.seed, job.answers, None if job.verifier is None else load_verifier(job.verifier))
    success = tools.run(job.seed, setting).success
    if job.keep is not None:
        rows: dict[str, Any] = {
            "seen": np.array(chooser.seen, np.float32),
            "actions": np.array(chooser.answered, np.float32),
        }
        part = job.keep.with_name(f".{job.seed}.npz")
        np.savez(part, success=success, embedding=chooser.embedding, **rows)
        part.rename(job.keep)
    return job, success


def collect(jobs: list[Try], workers: int) -> None:
    """Runs training episodes that are not there yet."""
    left = [job for job in jobs if job.keep and not job.keep.is_file()]
    if left:
        done = list(track(run_in_processes(run, left, workers), "episodes with noise", total=len(left)))
        print(f"{sum(success for _, success in done)} of {len(done)} succeeded")


def train(files: list[Path], folder: Path) -> float:
    """Trains a verifier unless there is one; returns how often it ranks a success over a failure (AUC), held back."""
    told = folder / "verifier.json"
    if told.is_file():
        return float(json.loads(told.read_text())["auc"])
    torch.manual_seed(0)
    torch.set_num_threads(1)  # its networks are small
    rng, episodes = np.random.default_rng(0), [dict(np.load(file)) for file in files]
    seen = np.concatenate([each["seen"] for each in episodes])
    projection = find_projection(seen, int(episodes[0]["embedding"]), COMPONENTS)
    inputs = [np.concatenate([projection(each["seen"]), each["actions"]], axis=1) for each in episodes]
    outcomes = [np.full(len(each["seen"]), float(each["success"]), np.float32) for each in episodes]
    order = rng.permutation(len(episodes))
    back = order[: round(HELD_BACK * len(order))]
    x, y = (torch.from_numpy(np.concatenate([part[k] for k in order[len(back) :]])) for part in (inputs, outcomes))
    held_x, held_y = (torch.from_numpy(np.concatenate([part[k] for k in back])) for part in (inputs, outcomes))
    networks = Critics(x.shape[1], WIDTH, NETWORKS)
    steps = torch.optim.AdamW(networks.parameters(), lr=3e-4, weight_decay=1.0)
    best, waited = (np.inf, 0.0), 0
    for update in track(range(1, MOST_UPDATES + 1), "verifier"):
        rows = torch.randint(len(x), (BATCH,))
        logits = networks(x[rows])
        loss = functional.binary_cross_entropy_with_logits(logits, y[rows].expand_as(logits))
        steps.zero_grad()
        loss.backward()
        steps.step()
        if update % CHECK:
            continue
        with torch.no_grad():
            found = networks(held_x).mean(dim=0)
            wrong = float(functional.binary_cross_entropy_with_logits(found, held_y))
        waited += 1
        if wrong < best[0]:
            won = held_y > 0.5
            best, waited = (wrong, roc(found[won].numpy(), found[~won].numpy())[2]), 0
            projection.save(folder / "projection.safetensors")
            save_file(networks.state_dict(), folder / "verifier.safetensors")
        if waited >= PATIENCE:
            break
    replace_file(told, json.dumps({"auc": best[1], "loss": best[0], "episodes": len(files)}).encode())
    return best[1]


def main() -> None:
    """Runs what is missing and prints how they compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bundle", default="tabletop", help="(%(default)s)")
    parser.add_argument("--robot", default="panda", help="profile (%(default)s)")
    parser.add_argument("--suite", default="tabletop_hard", help="(%(default)s)")
    parser.add_argument("--episodes", type=int, default=1500, help="to train the verifier on (%(default)s)")
    parser.add_argument("--seeds", default="200000:200300", help="of the scenes to compare on (%(default)s)")
    parser.add_argument("--answers", type=int, default=8, help="N (%(default)s)")
    parser.add_argument("--folder", type=Path, default=Path("outputs/best-of-n"), help="(%(default)s)")
    parser.add_argument("--workers", type=int, default=2, help="processes (%(default)s)")
    harness.add_arguments(parser)
    args = parser.parse_args()
    bench = harness.begin(args, "residual-parts/best-of-n")
    bundle = find_bundle(args.bundle)
    scenes = Scenes(bundle=load_bundle(bundle), robot=args.robot, suite=args.suite, workers=args.workers)
    folder, episodes = args.folder / scenes.place, range(FIRST_SCENE, FIRST_SCENE + args.episodes)
    verifier = folder / f"verifier-{args.episodes}"
    for each in (folder / "episodes", verifier):
        each.mkdir(parents=True, exist_ok=True)
    place = {"bundle": bundle, "robot": args.robot, "suite": args.suite}
    files = {seed: folder / "episodes" / f"{seed}.npz" for seed in episodes}
    collect([Try(**place, seed=seed, answers=1, keep=file) for seed, file in files.items()], args.workers)
    auc = train(list(files.values()), verifier)
    seeds = list(parse_seeds(args.seeds, FIRST_SEED, END_SEED))

    def tried(left: list[int], **settings: Any) -> Outcomes:
        jobs = [Try(**place, seed=seed, **settings) for seed in left]
        return ((job.seed, success) for job, success in run_in_processes(run, jobs, args.workers))

    best = f"best of {args.answers}"
    ways: dict[str, tuple[Path, Callable[[list[int]], Outcomes]]] = {
        "from zeros": (folder / "alone.jsonl", scenes.alone),
        "one, from noise": (folder / "noise.jsonl", partial(tried, answers=1)),
        best: (verifier / f"{args.answers}.jsonl", partial(tried, answers=args.answers, verifier=verifier)),
    }
    zeros: list[bool] = []
    for what, (file, way) in ways.items():
        done = kept(file, seeds, way, what)
        values = success_and_change(zeros, done, "change")
        zeros = zeros or done
        note = f"{args.episodes} episodes, AUC {auc:.2f} on those held back" if what == best else ""
        print(f"{what}: {values} {note}", flush=True)
        bench.add({"suite": args.suite, "answers": what}, values, note=note)


if __name__ == "__main__":
    main()

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
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # benchmarks

import harness
import numpy as np
import torch
from harness.paired import paired
from rich.progress import track
from safetensors.torch import load_file, save_file
from scipy.stats import mannwhitneyu
from torch.nn import functional

from tendon.cli.seeds import parse_seeds
from tendon.core.files import replace_file
from tendon.core.json_lines import json_lines_so_far
from tendon.core.types import Array
from tendon.evaluation.episode import Setting, Timing
from tendon.evaluation.evaluate import END_SEED, FIRST_SEED
from tendon.evaluation.pool import Tools
from tendon.evaluation.statistics import wilson
from tendon.evaluation.suites import load_suite
from tendon.evaluation.workers import run_in_processes
from tendon.policies.bundle.bundle import load_bundle
from tendon.policies.bundle.places import find_bundle
from tendon.policies.engines.engine import Engine
from tendon.policies.engines.loading import Graph, Held, Tensor, TensorSpec, load_graph
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


class Chooser:
    """A `Graph` of a policy that answers out of drawn noise; of several answers a verifier picks one.

    Args:
        graph: has an input `noise` and outputs `actions` and `embedding`.
        rows: of an answer that are carried out, at most.
    """

    def __init__(self, graph: Graph, rows: int) -> None:
        self._graph, self._rows = graph, rows
        self.begin(0, 0, None)

    def begin(self, seed: int, answers: int, verifier: Verifier | None) -> None:
        """Starts an episode.

        Args:
            seed: of its noise.
            answers: to each observation; 0 starts from zeros.
            verifier: picks one; without it there is one answer, and all start from the same noise.
        """
        self._answers, self._verifier = answers, verifier
        self._rng = np.random.default_rng([seed, 53])
        self._noise = self._rng.standard_normal(self._graph.inputs["noise"].shape).astype(np.float32)
        self.seen, self.answered = list[Array](), list[Array]()
        self.embedding = 0

    def run(self, feeds: Mapping[str, Tensor | Held], hold: Collection[str] = ()) -> dict[str, Any]:
        """See `Graph`; keeps what was seen and answered."""
        if self._verifier is None:
            noises = [self._noise if self._answers else np.zeros_like(self._noise)]
        else:
            noises = list(self._rng.standard_normal((self._answers, *self._noise.shape)).astype(np.float32))
        answers = [self._graph.run({**feeds, "noise": noise}, hold) for noise in noises]
        actions = np.array([answer["actions"][0, : self._rows].ravel() for answer in answers])
        embedding = answers[0]["embedding"]
        self.embedding = embedding.size
        parts = (feeds["state"], feeds["prefix"], feeds["prefix_rows"], embedding)
        seen = np.concatenate([np.asarray(part, np.float32).ravel() for part in parts])
        best = 0 if self._verifier is None else int(np.argmax(self._verifier.values(seen, actions)))
        self.seen.append(seen)
        self.answered.append(actions[best])
        return answers[best]

    @property
    def engine(self) -> Engine:
        """See `Graph`."""
        return self._graph.engine

    @property
    def provider(self) -> str:
        """See `Graph`."""
        return self._graph.provider

    @property
    def inputs(self) -> Mapping[str, TensorSpec]:
        """See `Graph`."""
        return self._graph.inputs

    @property
    def outputs(self) -> Mapping[str, TensorSpec]:
        """See `Graph`."""
        return self._graph.outputs


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
    setting = Setting(delay_ns=round((found.difficulty.delay_s or 0.05) * 1e9))
    return Tools(found, policy, robot, Timing.AUTO, "auto"), choosers[0], setting


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
        rows = {"seen": np.array(chooser.seen, np.float32), "actions": np.array(chooser.answered, np.float32)}
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
            best, waited = (wrong, ranked(found.numpy(), held_y.numpy())), 0
            projection.save(folder / "projection.safetensors")
            save_file(networks.state_dict(), folder / "verifier.safetensors")
        if waited >= PATIENCE:
            break
    replace_file(told, json.dumps({"auc": best[1], "loss": best[0], "episodes": len(files)}).encode())
    return best[1]


def ranked(values: Array, outcomes: Array) -> float:
    """Returns how often a value of a success is above one of a failure."""
    won, lost = values[outcomes > 0.5], values[outcomes <= 0.5]
    return float(mannwhitneyu(won, lost).statistic / (len(won) * len(lost)))


def compare(file: Path, what: str, jobs: list[Try], workers: int) -> list[bool]:
    """Returns the outcomes of scenes, running those that a file does not have yet."""
    known = {int(row["seed"]): bool(row["success"]) for row in json_lines_so_far(file)}
    left = [job for job in jobs if job.seed not in known]
    with file.open("a", encoding="utf-8") as told:
        for job, success in track(run_in_processes(run, left, workers), what, total=len(left)) if left else ():
            known[job.seed] = success
            told.write(json.dumps({"seed": job.seed, "success": success}) + "\n")
            told.flush()
    return [known[job.seed] for job in jobs]


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
    bench = harness.begin(args, "residual/best-of-n")
    folder, bundle = args.folder, find_bundle(args.bundle)
    (folder / "episodes").mkdir(parents=True, exist_ok=True)
    place = {"bundle": bundle, "robot": args.robot, "suite": args.suite}
    scenes = range(FIRST_SCENE, FIRST_SCENE + args.episodes)
    tries = [Try(**place, seed=seed, answers=1, keep=folder / "episodes" / f"{seed}.npz") for seed in scenes]
    collect(tries, args.workers)
    auc = train([job.keep for job in tries if job.keep], folder)
    seeds = parse_seeds(args.seeds, FIRST_SEED, END_SEED)
    done: dict[str, list[bool]] = {}
    for what, answers, verifier in (
        ("from zeros", 0, None),
        ("one, from noise", 1, None),
        (f"best of {args.answers}", args.answers, folder),
    ):
        jobs = [Try(**place, seed=seed, answers=answers, verifier=verifier) for seed in seeds]
        done[what] = compare(folder / f"{what.replace(' ', '-')}.jsonl", what, jobs, args.workers)
        values: dict[str, harness.Value] = {"success": wilson(sum(done[what]), len(seeds))}
        if answers:
            values |= paired(done["from zeros"], done[what], "change")
        note = f"{args.episodes} episodes, AUC {auc:.2f} on those held back" if verifier else ""
        print(f"{what}: {values} {note}", flush=True)
        bench.add({"suite": args.suite, "answers": what}, values, note=note)


if __name__ == "__main__":
    main()

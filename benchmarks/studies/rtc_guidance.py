"""Gradient-free in-painting against real-time chunking with its Jacobian, on the same weights in torch.

Real-time chunking (Black, Galliker and Levine 2025, eq. 2 to 5) corrects each step of the flow by a vector-Jacobian
product of the denoiser, its weight clipped at 5. An inference engine has no such product, so
`policies/spec/sampling.py` blends the clean chunk in its place. Here both run from the weights of `--bundle`
(recovered; needs `pip install "tendon-vla[train]"`), on the observations and running plans of simulated episodes with
the shipped policy:

- frozen: how far the new chunk is from the running plan where that will be executed anyway (root mean square, mm);
- position, velocity: how far the tool steps off the running plan on the first free row (mm), and how much its
  velocity changes there (mm/s); means. "running plan" says what it changes if the plan just goes on;
- far end: distance of the last three rows from the fresh chunk, what the policy wants of what it sees (mm, mean);
- core ms: CPU time of one core for a chunk, without the context.

With `--closed-loop N` the guided flow also drives the robot in N scenes at 200 ms.

Example:
  python benchmarks/studies/rtc_guidance.py --scenes 4 --steps 4 10 --closed-loop 30
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # benchmarks

import harness
import numpy as np
import torch
from harness import Number

from tendon.core.types import ActionChunk, Array, Observation
from tendon.evaluation.episode import Episode, Setting
from tendon.evaluation.runner import Runner
from tendon.evaluation.statistics import wilson
from tendon.policies.bundle.bundle import load_bundle
from tendon.policies.engines.loading import Engine, Tensor
from tendon.policies.export.bundle import load_run
from tendon.policies.export.networks.two_graphs import ContextGraph, DenoiseGraph, row_conversion
from tendon.policies.inference.policy import BundlePolicy
from tendon.policies.spec.manifest import Continuation, Manifest
from tendon.policies.spec.prefix import Prefix
from tendon.policies.spec.sampling import Flow
from tendon.policies.training.model import FLOW_STEPS
from tendon.policies.training.recover import recover_run
from tendon.robots.profile import load_profile
from tendon.sim.backend import SimBackend
from tendon.sim.tabletop.scene import sample_scene
from tendon.sim.tabletop.suite import TABLETOP
from tendon.sim.viewpoints import labelled_viewpoints

FIRST_SEED = 200_000
GUIDANCE_CLIP = 5.0
FAR_ROWS = 3
EVERY = 4
DELAYS_MS = (0, 100, 200, 400)
NOTHING = Prefix(rows=np.empty((0, 4)), frozen=0)


@dataclass(frozen=True, kw_only=True, eq=False)
class Moment:
    """What one inference was given: the graph's inputs, and the running plan."""

    feeds: Mapping[str, Tensor]
    given: Prefix


class Recorder:
    """Stands before the model of a policy and keeps what it is asked."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self.moments: list[Moment] = []

    def answer(self, feeds: Mapping[str, Tensor], given: Prefix, continuation: Continuation) -> tuple[Array, Any]:
        """Answers as the model does."""
        self.moments.append(Moment(feeds=dict(feeds), given=given))
        answer: tuple[Array, Any] = self._model.answer(feeds, given, continuation)
        return answer


class WholePlan:
    """A policy that is told all of the running plan, though it was trained to be given the frozen rows only."""

    def __init__(self, policy: BundlePolicy) -> None:
        self._policy = policy
        self.pace = policy.pace
        self.step_ns, self.prefix_rows, self.overlap_rows = (
            policy.step_ns,
            policy.prefix_rows,
            policy.manifest.action.rows,
        )

    def infer(
        self, observation: Observation, prefix: ActionChunk | None = None, frozen: int | None = None
    ) -> ActionChunk:
        """See `BundlePolicy.infer`."""
        return self._policy.infer(observation, prefix, frozen)


class Network:
    """The recovered weights in torch: context, and a step of the flow in the bundle's normalised numbers."""

    def __init__(self, bundle: Path) -> None:
        with tempfile.TemporaryDirectory() as scratch:
            loaded = load_bundle(bundle)
            recover_run(loaded, Path(scratch), labelled_viewpoints(load_profile("panda")))
            self.model, record = load_run(Path(scratch))
        self.manifest: Manifest = loaded.manifest
        self.scale, self.shift = row_conversion(record["statistics"], self.manifest.action)
        self._look = ContextGraph(self.model)
        self._step = DenoiseGraph(self.model, self.scale, self.shift)
        self.shape = (1, self.model.shape.rows, self.model.shape.components)

    @torch.no_grad()
    def context(self, feeds: Mapping[str, Tensor]) -> torch.Tensor:
        """Returns what the flow is conditioned on."""
        names = (*(f"image_{camera.name}" for camera in self.manifest.cameras), "state", "tokens")
        found: torch.Tensor = self._look(*(torch.from_numpy(np.array(feeds[name])) for name in names))[0]
        return found

    def velocity(self, x: torch.Tensor, now: float, context: torch.Tensor) -> torch.Tensor:
        """Returns the velocity (1, T, C)."""
        velocity: torch.Tensor = self._step(x, torch.tensor([now]), context)
        return velocity


def fresh(network: Network, context: torch.Tensor, given: Prefix, steps: int) -> Array:
    """What the policy wants, whatever runs."""
    return inpainted(network, context, None, steps)


def inpainted(network: Network, context: torch.Tensor, given: Prefix | None, steps: int) -> Array:
    """In-painting as bundles do it."""

    @torch.no_grad()
    def predict(chunk: Array, now: float) -> Array:
        return network.velocity(torch.from_numpy(chunk).float()[None], now, context)[0].double().numpy()

    noise = np.zeros(network.shape[1:])
    return Flow(steps=steps, start=0.0, end=1.0).sample(predict, noise, given, np.random.default_rng(0))


def guided(network: Network, context: torch.Tensor, given: Prefix, steps: int, own: bool = True) -> Array:
    """Real-time chunking with its vector-Jacobian product (Black, Galliker and Levine 2025, algorithm 1).

    It is no blend: distances count. With `own` they are in the numbers in which the noise was of one size in training,
    else in the bundle's, a row of which may be many times larger: the metric between the two is `scale ** 2`.
    """
    count = len(given.rows)
    metric = torch.ones_like(network.scale) if own else network.scale**2
    weights = torch.from_numpy(given.weights(network.shape[1])).float()[None, :, None] / metric
    target = torch.zeros(network.shape)
    target[0, :count] = torch.from_numpy(given.rows).float() * network.scale[:count] + network.shift[:count]
    nothing_given = torch.zeros(network.shape[:2])
    x = torch.zeros(network.shape)
    for k in range(steps):
        now = k / steps
        x.requires_grad_()
        velocity = network.model.flow(x, nothing_given, torch.tensor([[now]]), context)
        clean = x + (1.0 - now) * velocity
        (pull,) = torch.autograd.grad(clean, x, weights * (target - clean).detach())
        gain = min(GUIDANCE_CLIP, (now**2 + (1.0 - now) ** 2) / (now * (1.0 - now))) if now else GUIDANCE_CLIP
        x = (x + (velocity + gain * metric * pull) / steps).detach()
    return ((x - network.shift) / network.scale)[0].double().numpy()


def guided_in_bundle(network: Network, context: torch.Tensor, given: Prefix, steps: int) -> Array:
    """The same, with distances in the bundle's numbers."""
    return guided(network, context, given, steps, own=False)


def blended(network: Network, context: torch.Tensor, given: Prefix, steps: int) -> Array:
    """The fresh chunk, blended with the running plan by the same weights."""
    return given.blend(fresh(network, context, given, steps))


@torch.no_grad()
def trained(network: Network, context: torch.Tensor, given: Prefix, steps: int) -> Array:
    """The frozen rows as a prefix, as in training."""
    known = (torch.arange(network.shape[1]) < given.frozen).float()[None]
    prefix = torch.zeros(network.shape)
    prefix[0, : given.frozen] = torch.from_numpy(given.rows[: given.frozen]).float()
    chunk = network.model.sample(context, prefix * network.scale + network.shift, known, torch.zeros(network.shape))
    return ((chunk - network.shift) / network.scale)[0].double().numpy()


METHODS: dict[str, Callable[[Network, torch.Tensor, Prefix, int], Array]] = {
    "nothing": fresh,
    "weighted overlap": blended,
    "in-painting": inpainted,
    "Jacobian": guided,
    "Jacobian, bundle's numbers": guided_in_bundle,
    "trained prefix": trained,
}


class GuidedModel:
    """Stands in place of the model of a policy: the context from its first graph, the flow guided in torch."""

    def __init__(self, network: Network) -> None:
        self._network = network

    def answer(self, feeds: Mapping[str, Tensor], given: Prefix, continuation: Continuation) -> tuple[Array, Any]:
        """Returns (T, C) normalised actions."""
        return guided(self._network, self._network.context(feeds), given, FLOW_STEPS), {}


def runner_of(policy: Any) -> Runner:
    """Returns a runner in a world of its own."""
    profile = load_profile("panda")
    return Runner(SimBackend(TABLETOP.world(profile)), policy, TABLETOP.load_environment())


def record(bundle: Path, scenes: int) -> dict[int, list[Moment]]:
    """Returns moments by delay [ms], of episodes with the trained prefix: those with a plan that runs on.

    Says how many had none: the robot was off it, see `tendon.control.continuation`.
    """
    policy = BundlePolicy(load_bundle(bundle), load_profile("panda"), Engine("cpu"), threads=1)
    recorder = policy._model = Recorder(policy._model)  # type: ignore[assignment]
    runner, found = runner_of(WholePlan(policy)), {}
    for delay in DELAYS_MS:
        recorder.moments = []
        for seed in range(FIRST_SEED, FIRST_SEED + scenes):
            runner.run(sample_scene(seed), Setting(delay_ns=delay * 1_000_000))
        made = recorder.moments
        none = sum(not len(moment.given.rows) for moment in made) - scenes
        print(f"{delay} ms: {none} of {len(made) - scenes} chunks had no plan to continue, first ones left out")
        found[delay] = [m for m in made if len(m.given.rows) > m.given.frozen + 1 > 1][::EVERY]
    return found


def errors(manifest: Manifest, given: Prefix, chunk: Array, wanted: Array) -> tuple[float, float, float, float]:
    """Returns the first four numbers of the table's row for one chunk."""
    std, mean = np.array(manifest.action.std)[:3], np.array(manifest.action.mean)[:3]

    def metres(rows: Array) -> Array:
        return rows[:, :3] * std + mean

    new, plan, aim, first = metres(chunk), metres(given.rows), metres(wanted), given.frozen
    executed = np.concatenate([np.zeros((1, 3)), plan[:first]])  # the tool is at 0 when it is seen
    before = executed[-1] - executed[-2]
    step_s = manifest.action.step_s
    return (
        float(np.sqrt(np.mean(np.sum((new[:first] - plan[:first]) ** 2, axis=1)))),
        float(np.linalg.norm(new[first] - plan[first])),
        float(np.linalg.norm(new[first] - executed[-1] - before) / step_s),
        float(np.mean(np.linalg.norm(new[-FAR_ROWS:] - aim[-FAR_ROWS:], axis=1))),
    )


def compare(bench: harness.Bench, network: Network, moments: Mapping[int, list[Moment]], steps: list[int]) -> None:
    """Prints and adds the table."""
    print("| delay ms | method | steps | frozen mm | position mm | velocity mm/s | far end mm | core ms |")
    print("|---|---|---|---|---|---|---|---|")
    for delay, those in moments.items():
        contexts = [network.context(moment.feeds) for moment in those]
        wanted = [fresh(network, context, NOTHING, FLOW_STEPS) for context in contexts]
        on = [errors(network.manifest, m.given, _run_on(m.given, w), w) for m, w in zip(those, wanted, strict=True)]
        plan = 1e3 * float(np.mean(on, axis=0)[2])
        print(f"| {delay} | running plan ({len(those)} chunks) | - | 0 | 0 | {plan:.0f} | - | - |")
        bench.add(
            {"delay": f"{delay} ms", "method": "running plan", "steps": "-"},
            {"frozen": Number(0, "mm"), "position": Number(0, "mm"), "velocity": Number(plan, "mm/s")},
            claim="in-painting/methods",
            note=f"{len(those)} chunks",
        )
        for name, method in METHODS.items():
            for count in steps if name in ("in-painting", "Jacobian") else [FLOW_STEPS]:
                found, took = [], []
                for moment, context, aim in zip(those, contexts, wanted, strict=True):
                    begin = time.process_time()
                    chunk = method(network, context, moment.given, count)
                    took.append(time.process_time() - begin)
                    found.append(errors(network.manifest, moment.given, chunk, aim))
                frozen, position, velocity, far = (1e3 * np.mean(found, axis=0)).tolist()
                core = 1e3 * float(np.median(took))
                print(
                    f"| {delay} | {name} | {count} | {frozen:.1f} | {position:.1f} | {velocity:.0f} | {far:.1f} "
                    f"| {core:.1f} |",
                    flush=True,
                )
                bench.add(
                    {"delay": f"{delay} ms", "method": name, "steps": str(count)},
                    {
                        "frozen": Number(frozen, "mm"),
                        "position": Number(position, "mm"),
                        "velocity": Number(velocity, "mm/s"),
                        "far end": Number(far, "mm"),
                        "core": Number(core, "ms"),
                    },
                    claim="in-painting/methods",
                )


def _run_on(given: Prefix, rows: Array) -> Array:
    """Returns a chunk that is the running plan as far as that goes."""
    return np.concatenate([given.rows, rows])[: len(rows)]


def closed_loop(bench: harness.Bench, bundle: Path, network: Network, scenes: int) -> None:
    """Prints and adds the success of the guided flow at 200 ms."""
    policy = BundlePolicy(load_bundle(bundle), load_profile("panda"), Engine("cpu"), 1, Continuation.OVERLAP)
    policy._model = GuidedModel(network)  # type: ignore[assignment]
    runner = runner_of(policy)
    setting, episodes = Setting(delay_ns=200_000_000), list[Episode]()
    for seed in range(FIRST_SEED, FIRST_SEED + scenes):
        episodes.append(runner.run(sample_scene(seed), setting))
    done = wilson(sum(e.success for e in episodes), scenes)
    jump, jerk = (float(np.mean([getattr(e, name) for e in episodes])) for name in ("peak_jump", "rms_jerk"))
    print(f"Jacobian in closed loop at 200 ms: {done}, jump {1e3 * jump:.1f} mrad, rms jerk {jerk:.0f}")
    values: dict[str, harness.Value] = {
        "success": done,
        "jump": Number(1e3 * jump, "mrad"),
        "rms jerk": Number(jerk, "rad/s^3"),
    }
    bench.add({"method": "Jacobian", "delay": "200 ms"}, values, claim="in-painting/closed-loop")


def main() -> None:
    """Records, compares, and drives."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bundle", type=Path, default=Path("bundles/tabletop"))
    parser.add_argument("--scenes", type=int, default=4, help="to take observations from, a delay (%(default)s)")
    parser.add_argument("--steps", type=int, nargs="+", default=[4, 10], help="of the flow")
    parser.add_argument("--closed-loop", type=int, default=0, help="scenes that the guided flow drives (%(default)s)")
    harness.add_arguments(parser)
    args = parser.parse_args()
    bench = harness.begin(args, "in-painting/methods", "in-painting/closed-loop")
    torch.set_num_threads(1)
    network = Network(args.bundle)
    print(f"{args.bundle}, {args.scenes} scenes a delay")
    if args.scenes:
        compare(bench, network, record(args.bundle, args.scenes), args.steps)
    if args.closed_loop:
        closed_loop(bench, args.bundle, network, args.closed_loop)


if __name__ == "__main__":
    main()

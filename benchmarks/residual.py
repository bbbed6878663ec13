"""What a residual costs a control tick, how far random weights lead the robot, and how soon the gate knows a bad one.

The network is as large as a trained one (512 numbers of an embedding, two hidden layers of 128) with random weights at
full authority: an adversary, as far as the robot is concerned. The gate is played with outcomes drawn by true rates.

Example:
  python benchmarks/residual.py --ticks 20000
"""

from __future__ import annotations

import argparse
import itertools
import time
from dataclasses import replace
from functools import partial

import harness
import numpy as np
from onnx import TensorProto, helper, numpy_helper

from tendon.control.residual.gate import Evidence, Record, ResidualGate, Tally
from tendon.control.residual.learned import learned_residual
from tendon.control.residual.space import ResidualSpace
from tendon.control.residual.tools import Tools, joint_bound
from tendon.core.base_motion import BaseMotion
from tendon.core.types import ActionChunk, Features, Observation
from tendon.evaluation.statistics import wilson
from tendon.policies.residual.graph import ACTION, OBSERVATION, ResidualGraph
from tendon.robots.profile import load_profile

BASE = "b" * 64
STEP_NS, ROWS, WIDTH = 100_000_000, 16, 128
RATES = ((0.9, 0.0), (0.9, 0.6), (0.6, 0.6), (0.5, 0.7))
"""Success rates of a base alone, and with its residual."""
KNOWN = {
    "nothing": Evidence(),
    "260 of 300 against 161 of 300": Evidence(
        base=Tally(successes=161, total=300), residual=Tally(successes=260, total=300)
    ),
}
RUNS, EPISODES = 200, 600
ASKS, ANSWERS = "a tick that asks the network", "a tick that takes its answer"


def random_graph(space: ResidualSpace, rng: np.random.Generator, weights: float = 1.0) -> bytes:
    """Returns a network of two hidden layers with large random weights, so that its answers are at their ends.

    Args:
        space: of what it sees and answers.
        rng: draws the weights.
        weights: their standard deviation; 0 answers zeros.
    """
    sizes = (space.observations, WIDTH, WIDTH, space.actions)
    names, nodes, tensors = [OBSERVATION, "first", "second", ACTION], [], []
    for k, (inputs, outputs) in enumerate(itertools.pairwise(sizes)):
        drawn = weights * rng.normal(size=(inputs, outputs))
        tensors.append(numpy_helper.from_array(drawn.astype(np.float32), f"weights{k}"))
        nodes.append(helper.make_node("MatMul", [names[k], f"weights{k}"], [f"linear{k}"]))
        nodes.append(helper.make_node("Tanh" if k == 2 else "Relu", [f"linear{k}"], [names[k + 1]]))
    graph = helper.make_graph(
        nodes,
        "random",
        [helper.make_tensor_value_info(OBSERVATION, TensorProto.FLOAT, [1, sizes[0]])],
        [helper.make_tensor_value_info(ACTION, TensorProto.FLOAT, [1, sizes[-1]])],
        tensors,
    )
    return bytes(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9).SerializeToString()
    )


def first_rows(chunk: ActionChunk, start_ns: int, step_ns: int, rows: int) -> ActionChunk:
    """Returns what an executor makes of a chunk for a residual: here its first rows."""
    return replace(chunk, actions=chunk.actions[:rows])


def play_gate(base: float, both: float, known: Evidence, seed: int) -> tuple[int | None, float, float]:
    """Returns after how many episodes a residual was withdrawn, its share at the end, and the successes lost in all."""
    gate, rng, lost = ResidualGate(Record(), known, seed=seed), np.random.default_rng(seed), 0.0
    for episode in range(1, EPISODES + 1):
        acts = gate.draw()
        lost += (base - both) if acts else 0.0
        gate.take(acts, bool(rng.random() < (both if acts else base)))
        if gate.record.withdrawn:
            return episode, 0.0, lost
    return None, gate.share, lost


def measure_gate(arguments: argparse.Namespace) -> None:
    """Plays the gate many times for each pair of true rates."""
    bench = harness.begin(arguments, "residual-bounds/gate")
    for name, known in KNOWN.items():
        for base, both in RATES:
            played = [play_gate(base, both, known, seed) for seed in range(RUNS)]
            after = [episodes for episodes, _, _ in played if episodes is not None]
            lost = np.array([each for _, _, each in played])
            lasted = np.array([episodes or EPISODES for episodes, _, _ in played])
            values: dict[str, harness.Value] = {
                "withdrawn": wilson(len(after), RUNS),
                "lost of the success, points": harness.Number(100 * float(lost.sum() / lasted.sum())),
                "in 19 of 20 runs at most": harness.Number(100 * float(np.quantile(lost / lasted, 0.95))),
                "share of episodes at the end": harness.Number(float(np.mean([share for _, share, _ in played]))),
            }
            if after:
                values |= {
                    "after episodes, p50": harness.Number(float(np.median(after))),
                    "max": harness.Number(float(max(after))),
                }
            print(f"base {base}, with residual {both}, known {name}: {values}")
            bench.add({"base alone": f"{base:g}", "with residual": f"{both:g}", "known before": name}, values)


def main() -> None:
    """Prints the numbers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ticks", type=int, default=10000, help="(%(default)s)")
    parser.add_argument("--robot", default="panda", help="profile (%(default)s)")
    harness.add_arguments(parser)
    arguments = parser.parse_args()
    bench = harness.begin(arguments, "residual-bounds/step")
    profile = load_profile(arguments.robot)
    tools = Tools(profile)
    space = ResidualSpace(embedding=512, points=2, tools=tools.count)
    rng = np.random.default_rng(0)
    residual = learned_residual(profile, space, ResidualGraph(random_graph(space, rng)), BASE)
    home, period_ns = profile.vector("home"), round(1e9 / profile.control_hz)
    points = np.tile(tools.positions(home)[0], (space.points, 1))
    times: dict[str, list[int]] = {"a tick": [], ASKS: [], ANSWERS: []}
    farthest_joint = farthest_tool = 0.0
    for k in range(arguments.ticks):
        due_ns = (k + 1) * period_ns
        if k % 40 == 0:
            told = Features(policy=BASE, embedding=rng.normal(size=512), points=points)
            times_s = (due_ns + STEP_NS * np.arange(ROWS)) * 1e-9
            wave = home + 0.1 * np.sin(1.3 * times_s)[:, None]
            chunk = ActionChunk(
                actions=wave, start_ns=due_ns, step_ns=STEP_NS, observation_stamp_ns=due_ns, features=told
            )
        position = home + 0.1 * np.sin(1.3e-9 * due_ns)
        observation = Observation(stamp_ns=due_ns, joint_position=position, joint_velocity=np.zeros_like(home))
        motion = BaseMotion(
            due_ns=due_ns,
            position=position,
            velocity=np.zeros_like(home),
            chunk=chunk,
            window=partial(first_rows, chunk),
        )
        begin_ns = time.perf_counter_ns()
        corrected, _ = residual.correct(observation, motion)
        took_ns = time.perf_counter_ns() - begin_ns
        if residual.problems:
            raise SystemExit(f"tick {k}: {residual.problems[0]}")
        times[{0: ASKS, 1: ANSWERS}.get(k % 40, "a tick")].append(took_ns)
        farthest_joint = max(farthest_joint, float((np.abs(corrected - position) / joint_bound(profile, space)).max()))
        moved = tools.positions(corrected) - tools.positions(position)
        farthest_tool = max(farthest_tool, float(np.linalg.norm(moved, axis=1).max()) / space.tool_bound)
    for name, values in times.items():
        spread = harness.spread_of(np.array(values) * 1e-6, "ms")
        print(name, spread)
        bench.add({"robot": arguments.robot, "what": name}, spread)
    print(f"farthest, of its bound: a joint {farthest_joint:.3f}, a tool {farthest_tool:.3f}")
    led = {"joint": harness.Number(farthest_joint), "tool": harness.Number(farthest_tool)}
    bound = harness.begin(arguments, "residual-bounds/bound")
    bound.add({"robot": arguments.robot, "what": "farthest that random weights led, of the bound"}, led)
    measure_gate(arguments)


if __name__ == "__main__":
    main()

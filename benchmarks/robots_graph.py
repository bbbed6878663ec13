"""Every simulated robot through the whole graph in each simulator: real processes, simulated time, the suite's expert.

Each scene is a `tendon run` of its own, armed and told as by a person, in the way of `tendon.testing`. Broken limits
are counted by code that shares nothing with the filter, in what was commanded in every step and in what was measured.

Examples:
  python benchmarks/robots_graph.py
  python benchmarks/robots_graph.py --robot so101 --simulator mujoco --seeds 100000:100002 --busy --rows /tmp/rows
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import dataclass
from pathlib import Path

import harness
import numpy as np
from harness import Number

from robots import ROBOTS
from tendon.cli.seeds import parse_seeds
from tendon.core.causes import Cause
from tendon.evaluation.evaluate import END_SEED, FIRST_SEED
from tendon.evaluation.limits import measured_beyond, worst_of
from tendon.evaluation.statistics import wilson
from tendon.evaluation.suites import load_suite, suite_for
from tendon.policies.bundle.places import EXPERT
from tendon.robots.profile import load_profile
from tendon.sim.simulators import SIMULATORS
from tendon.testing.graph import GraphUnderTest, start_graph

CLAIM = "robots/graph"
DELAY_MS = 50.0


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What came of one run of the graph.

    Attributes:
        success: the task was done in time, and nothing stopped the robot.
        time_s: simulated, from the instruction to the task done, or to where the run ended.
        broken: commanded samples beyond a limit, and 1 more if a joint was measured beyond one.
        stops: that nobody asked for.
        said: why it failed.
    """

    success: bool
    time_s: float
    broken: int
    stops: int
    said: str


def run(robot: str, simulator: str, seed: int, limit_s: float, folder: Path) -> Outcome:
    """Starts a graph, has it do the task of a scene in so much simulated time, and ends it."""
    graph = start_graph(
        {
            "robot": robot,
            "policy": EXPERT,
            "simulator": simulator,
            "scene": seed,
            "inference_delay_ms": DELAY_MS,
            "speed": 0,
        },
        folder,
    )
    try:
        graph.arm()
        began_ns, said = graph.now_ns(), ""
        graph.say(graph.instruction)
        try:
            graph.wait_until_done(within_s=limit_s)
        except AssertionError as error:
            said = str(error)
        return _outcome(graph, (graph.now_ns() - began_ns) * 1e-9, said)
    finally:
        graph.end()


def _outcome(graph: GraphUnderTest, time_s: float, said: str) -> Outcome:
    measured = graph.witness.measured.copy()
    position, velocity = (np.array([sample[k] for sample in measured]) for k in (1, 2))
    beyond = measured_beyond(graph.profile, position, velocity)
    stops = [stop for stop in graph.witness.stops(graph.armed_ns or 0) if stop.cause is not Cause.REQUESTED]
    return Outcome(
        success=not said and not stops,
        time_s=time_s,
        broken=worst_of(graph.witness.motion()).broken + bool(beyond),
        stops=len({stop.cause for stop in stops}),
        said="; ".join(filter(None, (said, beyond))),
    )


def main() -> None:
    """Runs them and prints what came of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--robot", action="append", metavar="NAME", help=f"({', '.join(ROBOTS)})")
    parser.add_argument("--simulator", action="append", choices=list(SIMULATORS), help="(all of them)")
    parser.add_argument("--seeds", default="200000:200006", help="scenes of each robot (%(default)s)")
    harness.add_arguments(parser)
    options = parser.parse_args()
    bench = harness.begin(options, CLAIM)
    seeds = parse_seeds(options.seeds, FIRST_SEED, END_SEED)
    for robot in options.robot or ROBOTS:
        profile = load_profile(robot)
        suite = suite_for(profile)
        limits_s = {seed: load_suite(suite).scene(profile, seed).task.limit_s for seed in seeds}
        for simulator in options.simulator or SIMULATORS:
            outcomes = []
            for seed in seeds:
                with tempfile.TemporaryDirectory() as folder:
                    outcomes.append(run(robot, simulator, seed, limits_s[seed], Path(folder)))
                if outcomes[-1].said:
                    print(f"{robot} in {SIMULATORS[simulator]}, scene {seed}: {outcomes[-1].said}", flush=True)
            rate = wilson(sum(each.success for each in outcomes), len(outcomes))
            broken, stops = sum(each.broken for each in outcomes), sum(each.stops for each in outcomes)
            print(f"{robot:11s} {SIMULATORS[simulator]:8s} {rate}  broken {broken}  stops {stops}", flush=True)
            bench.add(
                {"robot": robot, "simulator": SIMULATORS[simulator], "suite": suite},
                {
                    "success": rate,
                    "limits broken": Number(broken),
                    "stops": Number(stops),
                    "time": Number(float(np.median([each.time_s for each in outcomes])), "s"),
                },
            )


if __name__ == "__main__":
    main()

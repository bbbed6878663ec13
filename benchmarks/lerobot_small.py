"""What LeRobot's trainer made of teleoperated demonstrations: rows of what `recipes/lerobot_small.sh` trained.

Success in the loop without ROS was counted by the recipe. Here policies do the first of these scenes through the whole
ROS graph (kept in WORK: an interrupted run goes on), and the time of a chunk is measured.

Examples:
  python benchmarks/lerobot_small.py outputs/lerobot
  python benchmarks/lerobot_small.py outputs/lerobot --graph act diffusion-10 --graph-scenes 20 --busy
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

import harness
from graph_success import DELAY_MS, play
from harness import Number, Value
from harness.apart import keep_apart
from harness.paired import outcomes_by_seed, paired

from tendon.evaluation.statistics import wilson
from tendon.policies.bundle.bundle import load_bundle
from tendon.policies.engines.bench import Failed, Job, measure
from tendon.policies.engines.engine import Engine
from tendon.policies.spec.sampling import Diffusion
from tendon.sim.tabletop.scene import sample_scene

TRAINED, CHUNK = "lerobot/trained", "lerobot/trained-chunk"
POLICIES = ("act", "diffusion", "diffusion-10", "diffusion-5")
REFERENCE = "diffusion"
"""What fewer steps are compared with, scene by scene."""
SEEDS = range(200_003, 200_363, 6)
"""Of drawers, as in the recipe."""
LOOP, GRAPH = "loop", "ROS graph"


def main() -> None:
    """Adds the rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path, help="folder of the recipe")
    parser.add_argument("--graph", nargs="*", choices=POLICIES, default=["act"], help="policies for the graph (act)")
    parser.add_argument("--graph-scenes", type=int, default=60, help="of each through the graph (%(default)s)")
    parser.add_argument("--otherwise", default="", help="what was done otherwise than the recipe says")
    harness.add_arguments(parser)
    args = parser.parse_args()
    bench = harness.begin(args, TRAINED, CHUNK)
    keep_apart()
    work = args.work.resolve()
    outcomes = {policy: outcomes_by_seed(file) for policy in POLICIES if (file := work / f"{policy}.json").is_file()}
    names = {policy: policy_name(work / policy) for policy in outcomes}
    for policy, found in outcomes.items():
        for task in ("open", "close", "all"):
            values = {"success": success(found, task)}
            if policy.startswith(f"{REFERENCE}-"):
                values |= against(outcomes[REFERENCE], found, task)
            bench.add(
                {"policy": names[policy], "through": LOOP, "drawer": task},
                values,
                claim=TRAINED,
                note=args.otherwise if task == "all" else "",
            )
    for policy, name in names.items():
        measured = measure(Job(bundle=work / policy, engine=Engine("cpu"), robot=str(robot_of(work))))
        if isinstance(measured, Failed):
            raise SystemExit(f"{policy}: {measured.reason}")
        times: dict[str, Value] = {
            "p50": Number(measured.whole.p50, "ms"),
            "p99": Number(measured.whole.p99, "ms"),
            "CPU of all cores": Number(measured.cpu_ms, "ms"),
            "size": Number(measured.size_mb, "MB"),
        }
        bench.add({"policy": name}, times, claim=CHUNK)
    for policy in args.graph:
        kept = work / f"{policy}-graph.jsonl"
        rows = play(SEEDS[: args.graph_scenes], str(work / policy), DELAY_MS, 0.0, kept, str(robot_of(work)))
        graph = {int(str(row["seed"])): bool(row["success"]) for row in rows}
        values = {
            "success": success(graph, "all"),
            **against(outcomes[policy], graph, "all"),
            "stops": Number(sum(bool(row["stop"]) for row in rows)),
        }
        bench.add({"policy": names[policy], "through": GRAPH, "drawer": "all"}, values, claim=TRAINED)


def robot_of(work: Path) -> Path:
    """Returns the profile of the recipe's robot."""
    return work / "robot" / "profile.yaml"


def policy_name(folder: Path) -> str:
    """Returns what a policy is, as its bundle says: its type, and how it is denoised."""
    manifest = load_bundle(folder).manifest
    if manifest.denoiser is None:
        return "ACT"
    schedule = manifest.denoiser.schedule
    assert isinstance(schedule, Diffusion)
    kind = "DDPM" if schedule.stochastic else "DDIM"
    return f"Diffusion, {kind}, {len(schedule.timesteps)} steps"


def success(found: Mapping[int, bool], task: str) -> Value:
    """Returns successes of the scenes with a task: open, close, or all."""
    done = [found[seed] for seed in of_task(found, task)]
    return wilson(sum(done), len(done))


def against(first: Mapping[int, bool], second: Mapping[int, bool], task: str) -> dict[str, Value]:
    """Returns how much more often the second succeeds on the same scenes."""
    seeds = [seed for seed in of_task(first, task) if seed in second]
    return paired([first[seed] for seed in seeds], [second[seed] for seed in seeds], "difference")


def of_task(found: Mapping[int, bool], task: str) -> list[int]:
    """Returns the seeds whose scene asks for it."""
    return [seed for seed in found if task in ("all", sample_scene(seed).task.relation)]


if __name__ == "__main__":
    main()

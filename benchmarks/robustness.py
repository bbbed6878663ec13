"""How the policy in this repository bears each axis alone, and what a search over all of them finds.

Axes: each perturbation at strength 1 on the same scenes, paired with none. Red team: CMA-ES over scenes and strengths.
Limits that the commanded motion breaks are counted in every episode by a check of its own. Times are simulated. An
interrupted search goes on.

Examples:
  python benchmarks/robustness.py
  python benchmarks/robustness.py --seeds 200000:200006 --episodes 24 --kept /tmp/kept --rows /tmp/rows --busy
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from pathlib import Path

import harness
from harness import Number
from harness.bench import commit
from rich.progress import track

from tendon.cli.seeds import parse_seeds
from tendon.evaluation.episode import Episode, Setting
from tendon.evaluation.evaluate import END_SEED, FIRST_SEED
from tendon.evaluation.paired import compare
from tendon.evaluation.pool import Job, run_jobs
from tendon.evaluation.redteam.attack import Attack, Space
from tendon.evaluation.redteam.search import Search
from tendon.evaluation.redteam.worst import worst_of
from tendon.evaluation.statistics import wilson
from tendon.evaluation.suites import load_suite
from tendon.policies.bundle.bundle import load_bundle
from tendon.policies.bundle.places import find_bundle

AXES, REDTEAM = "evaluation/axes", "evaluation/redteam"
DELAY_NS = 50_000_000


def axes(bench: harness.Bench, bundle: Path, seeds: range, workers: int) -> None:
    """Runs each axis alone and adds a row for it."""
    names = ["", *(each.key for each in load_suite("tabletop").perturbations)]
    settings = {name: Setting(delay_ns=DELAY_NS, perturbations=((name, 1.0),) if name else ()) for name in names}
    jobs = [Job(bundle=bundle, robot="panda", seed=seed, setting=settings[name]) for name in names for seed in seeds]
    found: dict[Setting, dict[int, Episode]] = defaultdict(dict)
    for job, episode in track(run_jobs(jobs, workers), "axes", total=len(jobs)):
        found[job.setting][job.seed] = episode
    plain = found[settings[""]]
    for name in names:
        episodes = found[settings[name]]
        compared = compare([plain[k].success for k in seeds], [episodes[k].success for k in seeds])
        broken = Number(sum(each.broken > 0 for each in episodes.values()))
        beside: dict[str, harness.Value] = {
            "difference": str(compared.change),
            "p (McNemar)": Number(compared.p_value),
        }
        bench.add(
            {"axis": name.replace("_", " ") or "none"},
            {"success": compared.second, **(beside if name else {}), "episodes that break a limit": broken},
            claim=AXES,
        )


def redteam(bench: harness.Bench, bundle: Path, seeds: range, episodes: int, workers: int, kept: Path) -> None:
    """Searches and adds what was found."""
    names = [each.key for each in load_suite("tabletop").perturbations if each.graded]
    space = Space(scenes=list(seeds), axes=names, most=1.0)
    like = Job(bundle=bundle, robot="panda", seed=seeds[0], setting=Setting(delay_ns=DELAY_NS))
    said = {"policy": load_bundle(bundle).digest, "delay_ns": str(DELAY_NS), "commit": commit()}
    search = Search(space, like, kept / "log.jsonl", size=12, seed=0, said=said)
    found: list[Attack] = list(track(search.run(episodes, workers), "redteam", total=episodes))
    failed = [each for each in found if each.failed]
    least = min(failed, key=lambda each: each.effort, default=None)
    results: dict[str, harness.Value] = {
        "attacks": Number(len(found)),
        "failures": wilson(len(failed), len(found)),
        "failures in the first quarter": wilson(sum(each.failed for each in found[: len(found) // 4]), len(found) // 4),
        "scenes with a failure": f"{len(worst_of(found, len(seeds)))} of {len(seeds)}",
        "least mean strength of a failure": "none" if least is None else f"{least.effort:.2f} of 1",
        "attacks that break a limit": Number(sum(each.broken > 0 for each in found)),
    }
    for measure, value in results.items():
        bench.add({"measure": measure}, {"result": value}, claim=REDTEAM)


def main() -> None:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="200000:200030", help="first:last+1, of the axes (%(default)s)")
    parser.add_argument("--attacked", default="200000:200018", help="first:last+1, of the search (%(default)s)")
    parser.add_argument("--episodes", type=int, default=180, help="of the search (%(default)s)")
    parser.add_argument("--workers", type=int, default=2, help="processes (%(default)s)")
    parser.add_argument("--kept", type=Path, default=Path("outputs/robustness"), help="log of the search (%(default)s)")
    harness.add_arguments(parser)
    args = parser.parse_args()
    bench = harness.begin(args, AXES, REDTEAM)
    bundle = find_bundle("tabletop")
    attacked = parse_seeds(args.attacked, FIRST_SEED, END_SEED)
    redteam(bench, bundle, attacked, args.episodes, args.workers, args.kept)
    axes(bench, bundle, parse_seeds(args.seeds, FIRST_SEED, END_SEED), args.workers)


if __name__ == "__main__":
    main()

"""What a residual gains in the running graph: the same scenes through all nodes, without it and with it.

The suite's difficulty is in the simulated robot and its scenes, see `Suite.for_graph`; simulated time. Its gate would
leave a residual out in most episodes: a copy of it is given evidence, and the graph is started until it acts. Episodes
are kept in a folder: an interrupted run goes on. The bundle's failure detector takes part: which one is in each row.
Last come the same scenes in the loop without ROS, which has none.

Examples:
  python benchmarks/residual_graph.py bundles/residuals/tabletop --folder outputs/residual-graph
  python benchmarks/residual_graph.py bundles/residuals/tabletop --folder /tmp/gain --seeds 200000:200060 --busy
  python benchmarks/residual_graph.py bundles/residuals/tabletop --used --seeds 200000:200060
"""

from __future__ import annotations

import argparse
import shutil
from collections import Counter
from functools import partial
from pathlib import Path

import harness
from graph_success import play
from harness import Number
from harness.apart import keep_apart
from harness.paired import success_and_change
from residual_gain import Scenes, kept

from tendon.cli.seeds import parse_seeds
from tendon.control.residual.gate import Evidence, Tally
from tendon.evaluation.evaluate import END_SEED, FIRST_SEED
from tendon.evaluation.suites import load_suite
from tendon.policies.bundle.bundle import load_bundle
from tendon.policies.bundle.places import find_bundle
from tendon.policies.detector.file import DETECTOR_FILE, read_record
from tendon.policies.residual.bundle import load_residual, write_evidence

SHOWN = Evidence(base=Tally(successes=0, total=200), residual=Tally(successes=200, total=200))


def main() -> None:
    """Adds the rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("residual", type=Path, help="its folder")
    parser.add_argument("--bundle", default="bundles/tabletop", help="policy (%(default)s)")
    parser.add_argument("--suite", default="tabletop_hard", help="(%(default)s)")
    parser.add_argument("--seeds", default="200000:200120", help="first:last+1 (%(default)s)")
    parser.add_argument("--folder", type=Path, default=Path("outputs/residual-graph"), help="of episodes (%(default)s)")
    parser.add_argument("--used", action="store_true", help="with second tasks, of which the last one counts")
    harness.add_arguments(parser)
    args = parser.parse_args()
    bench = harness.begin(args, "residual/graph-used" if args.used else "residual/graph")
    keep_apart()
    seeds, delay_ms = parse_seeds(args.seeds, FIRST_SEED, END_SEED), 1e3 * load_suite(args.suite).difficulty.delay_s
    args.folder.mkdir(parents=True, exist_ok=True)
    trusted = args.folder.resolve() / "trusted"
    shutil.copytree(args.residual, trusted, dirs_exist_ok=True)
    write_evidence(load_residual(trusted), SHOWN)
    bundle = load_bundle(find_bundle(args.bundle))
    own = bundle.content.get(DETECTOR_FILE)
    suite = f"suite:={args.suite}"
    ways = {
        "policy alone": ((suite,), own),
        "policy and residual": (
            (suite, f"residual:={trusted}"),
            load_residual(trusted).content.get(DETECTOR_FILE) or own,
        ),
    }
    base: list[bool] = []
    for way, (more, detector) in ways.items():
        file = args.folder / f"{way.replace(' ', '-')}.jsonl"
        episodes = play(seeds, args.bundle, delay_ms, 0.0, file, more=more, used=args.used)
        found = [bool(row["success"]) for row in episodes]
        values = success_and_change(base, found, "gain")
        base = base or found
        stops = Counter(str(row["stop"]) for row in episodes if row["stop"])
        values["stops"] = Number(sum(stops.values()))
        watched = "none" if detector is None else f"of {read_record(detector).scenes}"
        note = ", ".join(f"{count} {cause}" for cause, count in stops.most_common())
        bench.add({"suite": args.suite, "detector": watched, "policy": way}, values, note=note)
        print(way, values["success"], note, flush=True)
    scenes = Scenes(bundle=bundle, robot="panda", suite=args.suite, workers=2, used=args.used)
    base = []
    for way, residual in zip(ways, (None, args.residual), strict=True):
        about = "" if residual is None else load_residual(residual).manifest.digest
        file = args.folder / f"no-ros-{way.replace(' ', '-')}.jsonl"
        found = kept(file, list(seeds), partial(scenes.corrected, residual), f"no ROS, {way}", about)
        values = success_and_change(base, found, "gain")
        base = base or found
        bench.add({"suite": args.suite, "detector": "no ROS", "policy": way}, values)
        print(f"no ROS, {way}", values["success"], flush=True)


if __name__ == "__main__":
    main()

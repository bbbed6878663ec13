"""Stops a robot that holds an object and arms it again, many times, and checks what it is commanded from arming on.

Each time: move, stop, reset, arm. The finger is held at half its way, as by an object, while its setpoint is closed: a
start that took the measured position for its setpoint would let go. `make faults` calls it. Leaves every trial in
outputs/faults/rearm.jsonl. Exit code 1 when a limit was broken or the gripper was commanded to open.

Examples:
  python tests/faults/rearm.py --count 5
  python tests/faults/rearm.py --count 100 --results
  python tests/faults/rearm.py --count 100 --results --resume    goes on where that was interrupted
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT)]

from tendon.graph.domain import free_domain  # noqa: E402

if __name__ == "__main__":
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    os.environ.setdefault("ROS_DOMAIN_ID", str(free_domain()))

import harness  # noqa: E402
from harness import Number  # noqa: E402

from tendon.evaluation.limits import worst_of  # noqa: E402
from tests.faults import impostors  # noqa: E402
from tests.faults.bench import FINGER, Bench  # noqa: E402
from tests.faults.record import Record, parser_of  # noqa: E402
from tests.faults.trial import Trial  # noqa: E402
from tests.ros2_nodes.running_graph import PROFILE  # noqa: E402

OUTPUT = Path("outputs/faults/rearm.jsonl")
OBJECT_M, CLOSED_M = 0.02, 0.0
"""Where the object holds the finger, and its setpoint."""
NEAR_M = 2e-3
OPENED_M = 1e-4
"""A setpoint that is wider lets go. The filter comes to a target asymptotically."""
MOVES_S = (0.4, 1.4)
"""How long it moves before it is stopped."""


def grip(bench: Bench) -> None:
    """Closes the gripper on something, and goes on closing it."""
    bench.use("swing")
    bench.grip = OBJECT_M
    bench.set_in_motion()
    bench.graph.wait(lambda: abs(bench.graph.states[-1][1][FINGER] - OBJECT_M) < NEAR_M, "the finger at the object")
    impostors.set_simulator(bench, "jammed", PROFILE.joint_names[FINGER])
    bench.grip = CLOSED_M
    bench.graph.wait(lambda: bench.witness.motion().position[-1, FINGER] <= CLOSED_M + 1e-6, "the setpoint closed")


def arm_again(bench: Bench) -> Trial:
    """Stops it, arms it and lets it move; the details have the widest setpoint of the finger [m]."""
    bench.stop()
    bench.set_in_motion()
    bench.graph.pause(bench.random.uniform(*MOVES_S))
    motion = bench.witness.motion()
    return Trial(worst=worst_of(motion), details={"widest_m": float(motion.position[:, FINGER].max())})


def main() -> int:
    """Runs the trials."""
    parser = parser_of(__doc__)
    parser.add_argument("--count", type=int, default=100, help="times that it is armed (%(default)s)")
    args = parser.parse_args()
    results = harness.begin(args, "faults/rearm") if args.results else None
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # the graph has to end with this process
    run = {"commit": harness.commit(), "seed": args.seed, "count": args.count}
    record = Record(OUTPUT, run, args.count, args.resume)
    kept = len(record.all)
    bench = Bench(seed=args.seed + kept)
    began_s = time.monotonic()
    try:
        grip(bench)
        for _ in range(kept, args.count):
            trial = arm_again(bench)
            said = f"limits broken {trial.broken}, finger's setpoint at most {trial.details['widest_m'] * 1e3:.2f} mm"
            print(f"{record.add('rearm', trial)}: {said}", flush=True)
    finally:
        bench.close()
    trials = record.of("rearm")
    broken = sum(trial.broken for trial in trials)
    opened = sum(trial.details["widest_m"] > OPENED_M for trial in trials)
    laws = ("velocity", "acceleration", "jerk")
    worst_parts = ", ".join(f"{law} {max(getattr(trial.worst, law) for trial in trials):.2f}" for law in laws)
    took_s = time.monotonic() - began_s
    print(f"{len(trials)} times armed in {took_s:.0f} s: {broken} limits broken, {opened} let go; worst {worst_parts}")
    if results is not None:
        counts = {"armed": Number(len(trials)), "limits broken": Number(broken), "let go": Number(opened)}
        results.add({"joint": PROFILE.joint_names[FINGER], "clock": bench.clock}, counts)
    return int(bool(broken or opened))


if __name__ == "__main__":
    sys.exit(main())

"""How long a stop service takes to answer where the network loses packets: Tendon's settings, and those of Fast DDS.

Two processes on this machine. A filter of the kernel drops a share of the packets that reach either of them, so that
of one request and its answer twice that share is lost.

Examples:
  python benchmarks/lost_requests.py
  python benchmarks/lost_requests.py --requests 20 --busy
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT)]

import harness  # noqa: E402
import numpy as np  # noqa: E402
from harness import Number, spread_of  # noqa: E402

SHARES = (0.0, 0.01, 0.1, 0.2)
LATE_S = 0.1


def main() -> None:
    """Prints the times."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=100, help="of each row (%(default)s)")
    harness.add_arguments(parser)
    args = parser.parse_args()
    from tests.faults.lost_requests import answer_times

    bench = harness.begin(args, "faults/lost")
    for defaults in (False, True):
        settings = "Fast DDS's own" if defaults else "Tendon's"
        for share in SHARES:
            times_s = np.array(answer_times(share, args.requests, defaults))
            late = int((times_s > LATE_S).sum())
            spread = spread_of(times_s * 1e3, "ms")
            case = {"settings": settings, "packets lost": f"{share:.0%}"}
            bench.add(case, {"requests": Number(len(times_s)), **spread, "later than 100 ms": Number(late)})
            p50, p99, most = np.percentile(times_s * 1e3, [50, 99, 100])
            print(f"{settings:15s} {share:4.0%} lost: p50 {p50:.1f}, p99 {p99:.1f}, max {most:.1f} ms; {late} late")


if __name__ == "__main__":
    main()

"""What every benchmark shares: rows of results, the machine they were measured on, and whether it was idle.

A benchmark adds the common options, begins (refused on a busy machine) and adds one row for each case::

    parser.add_argument("--steps", type=int, default=20000)
    harness.add_arguments(parser)
    args = parser.parse_args()
    bench = harness.begin(args, "safety-filter/step-time")
    ...
    bench.add({"robot": "panda", "what": "filter, limits"}, {**spread_of(times_us, "us"), "missed": Number(0)})

`safety-filter/step-time` is a table of the page `docs/results/claims/safety-filter.yaml`. Rows go to
`docs/results/rows/safety-filter/step-time.jsonl`; `make results` writes the pages from them. Scripts outside
`benchmarks/` run with `PYTHONPATH=benchmarks`.
"""

from harness.bench import Bench, add_arguments, begin, commit
from harness.progress import progress_bar
from harness.rows import Number, Row, RowError, Value, spread_of

__all__ = [
    "Bench",
    "Number",
    "Row",
    "RowError",
    "Value",
    "add_arguments",
    "begin",
    "commit",
    "progress_bar",
    "spread_of",
]

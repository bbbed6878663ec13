"""Find how much later a motion is seen, or made, than it is stamped, from two recordings of it.

Each file has two columns: time [s] and value, such as a joint's position and the board's place in the picture. Wave to
and fro for ten seconds, not exactly the same each time.

Examples:
  tendon calibrate latency joint.csv seen.csv
  tendon calibrate latency command.csv joint.csv --largest-ms 200
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def command(
    measured: Annotated[Path, typer.Argument(metavar="MEASURED", help="A .csv: of joints, or of commands.")],
    seen: Annotated[Path, typer.Argument(metavar="SEEN", help="A .csv: what comes later.")],
    largest_ms: Annotated[float, typer.Option(min=1, max=5000, help="That is looked for.")] = 500.0,
) -> int:
    """Prints it.

    Raises:
        TendonError: a file cannot be read, or the two are not one motion.
    """
    from tendon.calibration.columns import read_columns
    from tendon.calibration.latency import find_delay

    one, other = read_columns(measured, 2), read_columns(seen, 2)
    found = find_delay(one[:, 0], one[:, 1], other[:, 0], other[:, 1], largest_ms / 1000, str(seen))
    spread = 1960 * found.deviation_s
    print(
        f"{1000 * found.seconds:.2f} ms later, +-{spread:.2f} ms (95 %); the two agree by {found.correlation:.4f} of 1"
    )
    return 0

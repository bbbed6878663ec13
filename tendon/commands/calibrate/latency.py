"""Find how much later a motion is seen, or made, than it is stamped, from two recordings of it.

Each file has two columns: time [s] and value, such as a joint's position and the board's place in the picture. Wave to
and fro for ten seconds, not exactly the same each time. With --robot it goes into that robot's calibration: as that of
a camera's stamps with --camera, of commands without.

Examples:
  tendon calibrate latency joint.csv seen.csv
  tendon calibrate latency command.csv joint.csv --largest-ms 200
  tendon calibrate latency joint.csv seen.csv --robot robots/mine/profile.yaml --camera wrist
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def command(
    measured: Annotated[Path, typer.Argument(metavar="MEASURED", help="A .csv: of joints, or of commands.")],
    seen: Annotated[Path, typer.Argument(metavar="SEEN", help="A .csv: what comes later.")],
    largest_ms: Annotated[float, typer.Option(min=1, max=5000, help="That is looked for.")] = 500.0,
    robot: Annotated[str, typer.Option(metavar="ROBOT", help="Put it into this robot's calibration.")] = "",
    camera: Annotated[str, typer.Option(help="Whose stamps are late; without it commands are.")] = "",
) -> int:
    """Prints it, and keeps it where that is asked for.

    Raises:
        TendonError: a file cannot be read, or the two are not one motion.
    """
    from tendon.calibration.columns import read_columns
    from tendon.calibration.latency import find_delay
    from tendon.calibration.results.keeping import keep_latency
    from tendon.core.errors import ConfigError
    from tendon.robots.profile import load_profile

    if camera and not robot:
        raise ConfigError(f"--camera is {camera}, and --robot says nothing: whose camera?")
    one, other = read_columns(measured, 2), read_columns(seen, 2)
    found = find_delay(one[:, 0], one[:, 1], other[:, 0], other[:, 1], largest_ms / 1000, str(seen))
    spread = 1960 * found.deviation_s
    print(
        f"{1000 * found.seconds:.2f} ms later, +-{spread:.2f} ms (95 %); the two agree by {found.correlation:.4f} of 1"
    )
    if robot:
        print("\n".join(keep_latency(load_profile(robot), found, camera).lines()))
    return 0

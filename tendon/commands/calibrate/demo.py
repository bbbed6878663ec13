"""Calibrate a whole rig in simulation, whose cameras, lenses and joint zeros are off, and see how near it comes.

It prints a board, takes pictures, moves the robot through its filter, writes a report and a calibration, binds a bundle
to it, and finds a camera that was moved by 2 mm.

Examples:
  tendon calibrate demo
  tendon calibrate demo --robot panda --simulator mujoco --seed 3 --out outputs/calibration-demo
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tendon.cli.options import RobotOption


def command(
    robot: RobotOption = "panda",
    simulator: Annotated[str, typer.Option(help="pybullet, mujoco, or auto.")] = "auto",
    seed: Annotated[int, typer.Option(min=0, help="Of what is off.")] = 0,
    views: Annotated[int, typer.Option(min=6, max=60, help="Of the guided motion.")] = 15,
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="For everything.")] = Path("outputs/calibration-demo"),
) -> int:
    """Runs it; returns 1 when something is not as it should be.

    Raises:
        TendonError: the calibration is not good.
    """
    from tendon.cli.outputs import own_folder
    from tendon.demo.calibration.binding import bound_bundle
    from tendon.demo.calibration.story import check_again, tell_story

    with own_folder(out, "tendon calibrate demo"):
        told = tell_story(out, robot, simulator, seed, views, tell=lambda line: print(line, flush=True))
        for camera, away in told.camera_mm.items():
            print(f"truth: camera {camera} is off by {away:.2f} mm and {told.camera_deg[camera]:.3f} deg")
        print(f"truth: zeros are off by {told.zero_deg:.3f} deg at most")
        starts, refusal = bound_bundle(told.profile, told.record, out)
        print(f"a bundle that is bound to this calibration {'starts' if starts else 'DOES NOT START'}")
        print(f"with another calibration it is refused: {refusal or 'NO'}")
        still = check_again(told, simulator, seed, 0.0)
        moved = check_again(told, simulator, seed, 0.002, 0.2)
        for line in (*still.lines(), *moved.lines()):
            print(f"verify: {line}")
        print(f"profile: {told.profile}\nreport: {told.report}")
        return 0 if starts and refusal and still.holds and not moved.holds else 1

"""Make everything to practise a calibration with, on a simulated graph: a robot, and sessions to fill.

The suite `calibration` has boards on the table and on the hand; its cameras are 2 to 5 cm and 5 deg off, its zeros 1 to
3 deg, otherwise in each scene. Then all is done as on hardware; at last --truth says how near it came.

Examples:
  tendon calibrate practice outputs/practice
  tendon run robot:=outputs/practice/robot/profile.yaml suite:=calibration policy:=none
  tendon calibrate practice outputs/practice --truth
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tendon.cli.options import RobotOption


def command(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="For all of it, which is not there yet.")],
    robot: RobotOption = "panda",
    scene: Annotated[int, typer.Option(min=0, help="Of the suite, as the graph gets it by scene:=.")] = 100_003,
    truth: Annotated[bool, typer.Option("--truth", help="Compare the calibration of FOLDER with the scene.")] = False,
) -> int:
    """Writes it and says what to type, or compares.

    Raises:
        ConfigError: the folder is there already, or there is no calibration to compare.
        MismatchError: the robot has no camera.
    """
    from tendon.demo.calibration.practice import compare, new_practice
    from tendon.graph.arguments import ARGUMENTS
    from tendon.graph.running.state import command_here

    if truth:
        print("\n".join(compare(folder, scene).lines()))
        return 0
    made, tendon = new_practice(folder, robot, scene), command_here()
    default = next(each.default for each in ARGUMENTS if each.name == "scene")
    chosen = "" if str(scene) == default else f" scene:={scene}"
    print(f"robot: {made.profile}\nsession: {made.session}\nto verify: {made.check}\n")
    print(f"{tendon} run robot:={made.profile} suite:=calibration policy:=none simulator:=mujoco{chosen}")
    print("and in another terminal")
    print(f"{tendon} safety arm")
    print(f"{tendon} calibrate guide {made.session} --environment tabletop")
    print(f"{tendon} calibrate solve {made.session}")
    return 0

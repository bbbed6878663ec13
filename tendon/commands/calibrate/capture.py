"""Take views of a calibration while somebody leads the robot: by hand, by teleoperation, or however it moves.

The graph runs (`tendon run policy:=none`), armed or not. Wherever the robot rests for half a second, at a pose that it
was not at before, every camera takes a picture; one that shows no board is not kept, and it says why. Ctrl-C ends it,
and it goes on with the same session.

Examples:
  tendon calibrate capture outputs/calibration/session
  tendon calibrate capture outputs/calibration/session --count 6 --page 8090
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from tendon.ros2_nodes.clients.operator import Operator


def command(
    session: Annotated[Path, typer.Argument(metavar="SESSION", help="Folder with session.yaml.")],
    count: Annotated[int, typer.Option(min=1, max=500, help="Poses, then it ends.")] = 15,
    page: Annotated[int, typer.Option(min=0, max=65535, help="Port of a page that shows coverage; 0 has none.")] = 0,
) -> int:
    """Takes them.

    Raises:
        TendonError: there is no graph, the session is wrong, or a camera sends nothing.
    """
    from tendon.calibration.motion.page import shown
    from tendon.calibration.session import Session
    from tendon.cli.operator import ask_about
    from tendon.robots.profile import load_profile

    opened = Session(session)
    profile = load_profile(opened.setup.robot)

    def watch(operator: Operator) -> int:
        from tendon.ros2_nodes.clients.guided_robot import WatchedRobot, watch_for_views

        robot = WatchedRobot(operator, profile, tuple(opened.setup.cameras))
        with shown(opened, rig, page) as tell:
            return watch_for_views(robot, opened, rig, count, tell)

    rig = opened.rig(profile)
    taken = ask_about("tendon_calibrate", profile.name, watch)
    print(f"{session}: {taken} poses more; solve, or have the robot lead itself: `tendon calibrate guide {session}`")
    return 0

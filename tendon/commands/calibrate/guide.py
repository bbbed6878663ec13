"""Have the robot lead itself from view to view, slowly, through its safety filter, and take a picture at each.

The graph runs (`tendon run policy:=none`) and is armed. Which poses tell most is planned from a few views that were
taken by hand (`tendon calibrate capture SESSION --count 6`), once; the plan is in the session. After a stop, arm it and
run the same command: it goes on with the pose that it was on its way to.

Examples:
  tendon calibrate guide outputs/calibration/session
  tendon calibrate guide outputs/calibration/session --count 20 --environment environments/my_table.yaml
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from tendon.ros2_nodes.clients.operator import Operator


def command(
    session: Annotated[Path, typer.Argument(metavar="SESSION", help="Folder with session.yaml and a few views.")],
    count: Annotated[int, typer.Option(min=3, max=100, help="Poses of the plan.")] = 15,
    environment: Annotated[str, typer.Option(help="What ways keep clear of; the graph's filter has its own.")] = "",
    page: Annotated[int, typer.Option(min=0, max=65535, help="Port of a page that shows coverage; 0 has none.")] = 0,
    seed: Annotated[int, typer.Option(min=0, help="Of the plan.")] = 0,
) -> int:
    """Plans where that was not done yet, and leads.

    Raises:
        TendonError: there is no armed graph, the robot was stopped, or the views so far do not tell the rig.
    """
    from tendon.calibration.left_out import left_out_lines
    from tendon.calibration.motion.guide import clear_of
    from tendon.calibration.motion.page import shown
    from tendon.calibration.motion.plan import plan_more
    from tendon.calibration.motion.taking import follow_plan
    from tendon.calibration.results.composing import rig_knowing
    from tendon.calibration.results.keeping import named_record
    from tendon.calibration.session import Session
    from tendon.cli.operator import ask_about
    from tendon.control.clearance.model import Clearance
    from tendon.robots.environment import load_environment
    from tendon.robots.profile import load_profile

    opened = Session(session)
    profile = load_profile(opened.setup.robot)
    clearance = Clearance(profile, load_environment(environment) if environment else None)
    poses = opened.plan(profile.joint_names)
    if not poses:
        rig = rig_knowing(opened.rig(profile), named_record(profile))
        skipped: list[tuple[str, str]] = []
        views = opened.views(rig, lambda shot, why: skipped.append((shot.picture, why)))
        for line in left_out_lines(skipped):
            print(line, flush=True)
        poses = plan_more(rig, views, clear_of(clearance), count, seed)
        for camera in rig.cameras:
            if all(view.camera != camera.name for view in views):
                print(f"camera {camera.name} has seen no board, so nothing is planned for it", flush=True)
        if not poses:
            print(f"{session}: views lack nothing; now `tendon calibrate solve {session}`")
            return 0
        opened.keep_plan(poses, profile.joint_names)
        print(f"a plan of {len(poses)} poses is in the session", flush=True)

    def lead(operator: Operator) -> int:
        from tendon.ros2_nodes.clients.guided_robot import GuidedRobot

        robot = GuidedRobot(operator, profile, tuple(opened.setup.cameras), clearance)
        with shown(opened, opened.rig(profile), page) as tell:
            return follow_plan(robot, opened, poses, profile.joint_names, tell)

    went = ask_about("tendon_calibrate", profile.name, lead)
    print(f"{session}: {went} views more; now `tendon calibrate solve {session}`")
    return 0

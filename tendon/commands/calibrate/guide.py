"""Have the robot lead itself from view to view, slowly, through its safety filter, and take a picture at each.

The graph runs (`tendon run policy:=none`) and is armed, and a camera sees a board from where the robot is. It looks
around from there, in small steps, until it knows where things are, or takes what `tendon calibrate capture` has seen;
then it plans the poses that tell most, once: the plan is in the session. After a stop, arm it and run the same command:
it goes on with the pose that it was on its way to.

Examples:
  tendon calibrate guide outputs/calibration/session
  tendon calibrate guide outputs/calibration/session --count 20 --environment environments/my_table.yaml
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from tendon.calibration.rig.parts import View
    from tendon.core.types import Array
    from tendon.ros2_nodes.clients.operator import Operator


def command(
    session: Annotated[Path, typer.Argument(metavar="SESSION", help="Folder with session.yaml.")],
    count: Annotated[int, typer.Option(min=3, max=100, help="Poses of the plan.")] = 15,
    environment: Annotated[str, typer.Option(help="What ways keep clear of; the graph's filter has its own.")] = "",
    page: Annotated[int, typer.Option(min=0, max=65535, help="Port of a page that shows coverage; 0 has none.")] = 0,
    seed: Annotated[int, typer.Option(min=0, help="Of the plan.")] = 0,
) -> int:
    """Looks around and plans where that was not done yet, and leads.

    Raises:
        TendonError: there is no armed graph, the robot was stopped, or nothing tells where a board is.
    """
    from tendon.calibration.left_out import LeftOut
    from tendon.calibration.motion.guide import clear_of
    from tendon.calibration.motion.looking import tell_enough
    from tendon.calibration.motion.page import shown
    from tendon.calibration.motion.plan import plan_more
    from tendon.calibration.motion.taking import follow_plan, look_around
    from tendon.calibration.results.composing import rig_knowing
    from tendon.calibration.results.keeping import named_record
    from tendon.calibration.session import Session
    from tendon.cli.operator import ask_about
    from tendon.control.clearance.model import Clearance
    from tendon.robots.environment import load_environment
    from tendon.robots.profile import load_profile

    opened = Session(session)
    profile = load_profile(opened.setup.robot)
    names, rig = profile.joint_names, opened.rig(profile)
    clearance = Clearance(profile, load_environment(environment) if environment else None)
    clear = clear_of(clearance)
    then = f"now `tendon calibrate solve {session}`"

    def plan(views: list[View]) -> list[Array]:
        poses = plan_more(rig_knowing(rig, named_record(profile)), views, clear, count, seed)
        for camera in rig.cameras:
            if all(view.camera != camera.name for view in views):
                print(f"camera {camera.name} has seen no board, so nothing is planned for it", flush=True)
        if poses:
            opened.keep_plan(poses, names)
            print(f"a plan of {len(poses)} poses is in the session", flush=True)
        else:
            print(f"{session}: views lack nothing; {then}")
        return poses

    poses = opened.plan(names)
    if not poses:
        left_out = LeftOut()
        views = opened.views(rig, left_out.add) if any(opened.shots()) else []
        for line in left_out.lines():
            print(line, flush=True)
        if tell_enough(rig, views) and not (poses := plan(views)):
            return 0

    def lead(operator: Operator) -> int:
        from tendon.ros2_nodes.clients.guided_robot import GuidedRobot

        robot = GuidedRobot(operator, profile, tuple(opened.setup.cameras), clearance)
        with shown(opened, rig, page) as tell:
            goals = poses or plan(look_around(robot, opened, rig, clear, seed, tell))
            return follow_plan(robot, opened, goals, names, tell)

    went = ask_about("tendon_calibrate", profile.name, lead)
    print(f"{session}: {went} views more; {then}")
    return 0

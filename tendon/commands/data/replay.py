"""Have the robot of a running simulation do again what was executed in a recording, and compare the motions.

Start the graph without a policy, and arm it. What was commanded is sent as action chunks, as a policy's would be:
through control node and filter, which may change it. Then a table says how far each joint was from where it was in the
recording at the same time. Ctrl-C brakes the robot. A dataset is replayed after `tendon data convert --to mcap`.

Examples:
  tendon run policy:=none arm:=true
  tendon data replay outputs/recordings/episode-000003.mcap
  tendon data replay outputs/again/episode-000000.mcap --go --within 0.02
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tendon.core.checks import check_number
from tendon.core.errors import StoppedError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from tendon.core.types import Array
    from tendon.data.replay import Deviation, RecordedMotion
    from tendon.robots.profile import RobotProfile
    from tendon.ros2_nodes.clients.operator import Operator
    from tendon.ros2_nodes.clients.replaying_robot import ReplayingRobot

START = 0.1
"""How far a joint may be from where the recording begins, rad or m."""
REST_S = 30.0


def command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="MCAP recording.")],
    go: Annotated[
        bool, typer.Option("--go", help="First lead the robot along a straight way to where the recording begins.")
    ] = False,
    within: Annotated[
        float, typer.Option(metavar="RAD|M", help="Exit code 1 when a joint was further away than this.")
    ] = 0.05,
) -> int:
    """Replays it.

    Returns:
        0; 1 when a joint was further from the recording than `within`.

    Raises:
        InvalidDataError: the file cannot be read, or nothing was executed in it.
        MismatchError: it is of another robot.
        StoppedError: there is no armed simulation without a policy, it begins too far away, or the robot was stopped.
        MissingDependencyError: ROS or the extra `data` is not installed.
    """
    from tendon.cli.operator import ask, robot_of
    from tendon.data.packages import require_data

    require_data()
    check_number("--within", within, least=0)
    from tendon.data.reading.recording import McapRecording
    from tendon.data.replay import compare, read_motion
    from tendon.robots.profile import load_profile

    McapRecording(file)  # what is no recording is said before a graph is looked for

    def question(operator: Operator) -> list[Deviation]:
        from tendon.graph.running.state import STAND_INS
        from tendon.ros2_nodes.clients.replaying_robot import ReplayingRobot

        profile = load_profile(robot_of(operator))
        if not operator.wait(lambda: bool(operator.nodes() & set(STAND_INS)), REST_S):
            raise StoppedError("this graph runs no simulated robot: replay is for `tendon run backend:=sim` or mock")
        motion = read_motion(file, profile)
        robot = ReplayingRobot(operator, profile)
        robot.take_over()
        try:
            if go:
                _go(robot, motion)
            _check_start(robot, motion, profile)
            times_ns, positions = _replay(robot, motion)
        finally:
            robot.brake()
            operator.wait(operator.at_rest, REST_S)
        return compare(motion, times_ns, positions, profile)

    found = ask("tendon_replay", question)
    _show(found)
    worst = max(found, key=lambda each: each.largest)
    far = worst.largest > within
    print(
        f"{file.name}: {worst.joint} was {worst.largest:.4f} away at {worst.at_s:.2f} s, "
        f"{'more' if far else 'no more'} than {within:g}"
    )
    return int(far)


def _check_start(robot: ReplayingRobot, motion: RecordedMotion, profile: RobotProfile) -> None:
    """Raises StoppedError where the robot is too far from the first row."""
    away = abs(robot.joints().joint_position - motion.actions[0])
    joint = int(away.argmax())
    if away[joint] > START:
        raise StoppedError(
            f"{profile.joint_names[joint]} is {away[joint]:.3f} from where the recording begins "
            f"({motion.actions[0][joint]:.3f}), may be {START:g}: lead the robot there, or add --go"
        )


def _go(robot: ReplayingRobot, motion: RecordedMotion) -> None:
    from tendon.cli.progress import CountingBar

    with CountingBar("to its begin", 100) as bar:
        robot.go(motion.actions[0], lambda share: bar.reach(round(100 * share), "%"))


def _replay(robot: ReplayingRobot, motion: RecordedMotion) -> tuple[npt.NDArray[np.int64], Array]:
    from tendon.cli.progress import CountingBar

    rows = len(motion.actions)
    with CountingBar("replay", rows) as bar:
        found = robot.replay(motion.actions, lambda row: bar.reach(min(row, rows), f"of {motion.seconds:.1f} s"))
        bar.reach(rows, "")
    return found


def _show(found: list[Deviation]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("joint", "RMS", "largest", "at [s]", title="away from the recording [rad or m]")
    for each in found:
        table.add_row(each.joint, f"{each.rms:.5f}", f"{each.largest:.5f}", f"{each.at_s:.2f}")
    Console().print(table)

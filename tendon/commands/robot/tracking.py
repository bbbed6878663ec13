"""Say how far the running robot was off its commands since it was armed, and what that asks of its profile.

Move it for a while as it will move later, then ask. Exit code 1 when a `tracking_tolerance` is less than twice the
largest error. A tolerance that is much more stops a robot that was hit later than it could; a margin of the collision
model that is less than what the errors amount to does not keep apart what is close.

Examples:
  tendon robot tracking panda
  tendon robot tracking panda --environment tabletop
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tendon.cli.operator import ask
from tendon.cli.options import EnvironmentOption, RobotArgument
from tendon.core.errors import StoppedError
from tendon.core.node_status import ControlStatus

if TYPE_CHECKING:
    from tendon.ros2_nodes.clients.operator import Operator

PATIENCE_S = 5.0


def command(robot: RobotArgument, environment: EnvironmentOption = None) -> int:
    """Prints it.

    Raises:
        StoppedError: there is no graph, it runs another robot, or the robot has not been armed.
        ConfigError: a file is missing or wrong.
        MissingDependencyError: ROS is not installed.
    """
    from tendon.cli.tracking_table import show_tracking
    from tendon.robots.environment import load_environment
    from tendon.robots.profile import load_profile

    profile, around = load_profile(robot), load_environment(environment) if environment else None
    status = ask("tendon_tracking", _status)
    if not any(status.tracking.values()):
        raise StoppedError("the robot has not been armed since the control node was started: move it first")
    return int(show_tracking(profile, around, status.tracking))


def _status(operator: Operator) -> ControlStatus:
    if not operator.wait(lambda: operator.reports.newest(ControlStatus) is not None, PATIENCE_S):
        raise StoppedError(f"the control node says nothing of itself; in the graph are: {operator.graph_nodes()}")
    return next(filter(None, [operator.reports.newest(ControlStatus)]))

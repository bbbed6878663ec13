"""Arms the robot once, when everything is ready, and ends. It is never started again: no restart arms by itself.

Parameter `for_policy`: it waits for a policy node that can work too. A camera that is silent while the robot is armed
latches, and on a busy machine seconds pass until the first frame finds its way to a policy node that has just started.
"""

from __future__ import annotations

import sys
import time

from tendon.core.errors import StoppedError
from tendon.core.modes import PermissionState
from tendon.core.node_status import Level, PolicyStatus
from tendon.ros2_nodes.base.runtime import prepare_process, require_ros
from tendon.ros2_nodes.clients.operator import Operator
from tendon.safety.reports import MonitorState

PATIENCE_S = 180.0
"""A busy machine may need minutes to import everything."""


def main() -> int:
    """Returns 0 when the robot is armed, 1 when it did not get ready in time."""
    require_ros()
    prepare_process()
    operator = Operator("arm_once", arguments=sys.argv)
    for_policy = operator.node.declare_parameter("for_policy", False).value
    deadline, refusal = time.monotonic() + PATIENCE_S, ""
    try:
        while time.monotonic() < deadline:
            try:
                if for_policy:
                    _require_policy(operator)
                print(operator.arm(), flush=True)
                return 0
            except StoppedError as error:
                if str(error) != refusal:
                    refusal = str(error)
                    print(refusal, flush=True)
                if operator.permission() is PermissionState.LATCHED:
                    print(_way_out(operator), file=sys.stderr, flush=True)
                    return 1
            time.sleep(0.3)
        print(f"not armed within {PATIENCE_S:.0f} s: {refusal}", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        pass
    finally:
        operator.close()
    return 1


def _way_out(operator: Operator) -> str:
    """Returns what to do about a latch, which outlives the graph that ends now."""
    monitor = operator.reports.newest(MonitorState)
    why = f", {monitor.permission.reason}" if monitor else ""
    return (
        f"not armed: latched{why}. When the cause is gone, start without arm:=true, then type tendon safety reset and "
        "tendon safety arm"
    )


def _require_policy(operator: Operator) -> None:
    status = operator.reports.newest(PolicyStatus)
    if status is None or (status.level is Level.ERROR and not status.refusal):  # a task in unknown words may change
        raise StoppedError("waiting until policy_node can work: `tendon status` says what it lacks")


if __name__ == "__main__":
    sys.exit(main())

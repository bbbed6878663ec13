"""Plans a way home in a process of its own: a second of Python beside the control loop would hold that up (the GIL)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence

import numpy as np

from tendon.control.clearance.model import Clearance
from tendon.control.homing.planner import HomePlanner
from tendon.core.errors import NoWayError, TendonError
from tendon.core.types import Array, freeze
from tendon.robots.environment import load_environment
from tendon.robots.profile import load_profile

PATIENCE_S = 10.0
"""For the process as a whole. It starts in half a second on an idle machine, then plans for `LIMIT_S` at most."""


def plan_apart(robot: str, environment: str, start: Array) -> Array:
    """Returns what `HomePlanner.plan` returns, from another process. It blocks; not for the thread of the control loop.

    Args:
        robot: name or path of the profile.
        environment: name or path; empty for none.
        start: (n,) where the reference rests.

    Raises:
        NoWayError: there is none, none was found in time, or the process failed.
    """
    _lend_no_priority()
    command = [sys.executable, "-m", __name__, robot, environment, json.dumps(start.tolist())]
    try:
        ended = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=True)
        answer = json.loads(ended.stdout)
    except subprocess.TimeoutExpired as error:
        raise NoWayError(f"no way home: it was not planned within {PATIENCE_S:g} s, the machine is busy") from error
    except (OSError, ValueError, subprocess.CalledProcessError) as error:
        said = (getattr(error, "stderr", "") or str(error)).strip().splitlines()[-1]
        raise NoWayError(f"no way home: its planning failed ({said})") from error
    if "problem" in answer:
        raise NoWayError(answer["problem"])
    return freeze("way home", answer["way"], (len(answer["way"]), len(start)))


def _lend_no_priority() -> None:
    """Has processes that this thread starts run as any other, also where the thread itself has real-time priority."""
    policy = os.sched_getscheduler(0)
    if policy in (os.SCHED_FIFO, os.SCHED_RR):
        os.sched_setscheduler(0, policy | os.SCHED_RESET_ON_FORK, os.sched_getparam(0))


def main(arguments: Sequence[str]) -> None:
    """Prints the way, or why there is none, as JSON."""
    robot, environment, start = arguments
    try:
        profile = load_profile(robot)
        clearance = Clearance(profile, load_environment(environment) if environment else None)
        answer: dict[str, object] = {"way": HomePlanner(profile, clearance).plan(np.array(json.loads(start))).tolist()}
    except TendonError as error:
        answer = {"problem": str(error)}
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1:])

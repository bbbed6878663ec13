"""Compute each committed point of an event log again with the same filter; exit code 1 when one differs.

Example:
  tendon safety replay-log RUN.jsonl
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tendon.core.errors import IntegrityError, MismatchError

if TYPE_CHECKING:
    from tendon.control.filter import SafetyFilter
    from tendon.robots.profile import RobotProfile


def command(file: Annotated[Path, typer.Argument(metavar="FILE", help="Event log.")]) -> int:
    """Replays it and prints the largest difference.

    Raises:
        IntegrityError: there is no such log, it is none, or it does not say of which robot it is.
        MismatchError: the log is of another profile.
    """
    from tendon.cli.log_verdict import verdict
    from tendon.evaluation.replay import replay
    from tendon.robots.digest import profile_digest
    from tendon.robots.profile import load_profile
    from tendon.safety.event_log import read_log

    reading = read_log(file)
    if verdict(file, reading):
        return 1
    header = reading.events[0] if reading.events else {}
    if not header.keys() >= {"robot", "profile", "environment"}:
        raise IntegrityError(f"{file} does not begin with a whole header: nothing says which robot it is of")
    profile = load_profile(header["robot"])
    if profile_digest(profile) != header["profile"]:
        raise MismatchError(
            f"profile {profile.name} has changed since {file.name} was written: replay it with the profile of then"
        )
    result = replay(reading.events, profile, _filter(profile, header["environment"]))
    print(f"{result.steps} filter steps computed again, {result.compared} of their points found in commands")
    where = f", {result.where}" if result.where else ": the same to the last bit"
    print(f"largest difference {result.difference:.3g}{where}")
    for broken in result.broken:
        print(f"law broken: {broken}")
    if not result.compared:
        print("nothing to compare: the robot was not commanded, or the log begins within a motion")
    return 0 if result.same or not result.steps else 1


def _filter(profile: RobotProfile, environment: str) -> SafetyFilter:
    from tendon.control.clearance.model import Clearance
    from tendon.control.filter import SafetyFilter
    from tendon.robots.environment import load_environment

    return SafetyFilter(profile, Clearance(profile, load_environment(environment) if environment else None))

"""Looks through a profile for what is wrong, and prints it as a table, the worst first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from tendon.control.clearance.model import Clearance
from tendon.robots.inspection.bodies import inspect_bodies
from tendon.robots.inspection.finding import Finding, Severity, error, note, warning
from tendon.robots.inspection.frames import inspect_frames
from tendon.robots.inspection.limits import inspect_limits
from tendon.robots.inspection.stop_inputs import inspect_stop_inputs
from tendon.robots.inspection.workspace import (
    SAMPLES,
    fills_space,
    judge_postures,
    judge_reach,
    sample_postures,
    sample_reach,
)
from tendon.robots.profile import RobotProfile
from tendon.robots.servo_response import read_response
from tendon.robots.unknowns import ADVICE

LOOKS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.NOTE: "dim"}
NEAR_LIMIT = 0.02
"""A joint of the arm whose home is this near to a limit has nowhere to go on one side [rad or m]."""


def inspect(profile: RobotProfile) -> list[Finding]:
    """Returns what is wrong with a profile, the worst first.

    Raises:
        ConfigError: a file of the profile is missing or wrong.
        MismatchError: one is of another robot.
    """
    if profile.response is not None:
        read_response(profile.response, profile.name, profile.joint_names)
    findings = [
        *(
            error("profile", f"unknown: {name}", f"{ADVICE[name]}; then take it out of `unknown`")
            for name in profile.unknown
        ),
        *_obstacle(profile),
        *inspect_limits(profile),
        *inspect_frames(profile),
        *inspect_bodies(profile),
        *inspect_stop_inputs(profile),
        *_home(profile),
    ]
    if "arm" in profile.groups:
        sample, judge = (sample_reach, judge_reach) if fills_space(profile) else (sample_postures, judge_postures)
        found = list(track(sample(profile), "reaching", total=SAMPLES, transient=True))
        findings.append(judge(found))
    return sorted(findings, key=lambda finding: finding.severity)


def show_findings(profile: RobotProfile, findings: list[Finding]) -> bool:
    """Prints them.

    Returns:
        Whether one is an error.
    """
    table = Table(title=f"{profile.name}: what is wrong before anything moves", title_justify="left")
    for column in ("", "where", "what it is", "how to mend it"):
        table.add_column(column, overflow="fold")
    for finding in findings:
        table.add_row(
            finding.severity.name.lower(), finding.where, finding.text, finding.advice, style=LOOKS[finding.severity]
        )
    console = Console()
    console.print(table)
    counts = [sum(finding.severity == severity for finding in findings) for severity in Severity]
    console.print(f"{counts[0]} errors, {counts[1]} warnings, {counts[2]} notes", highlight=False)
    return counts[0] > 0


def _obstacle(profile: RobotProfile) -> Iterator[Finding]:
    if reason := replace(profile, unknown=()).arming_obstacle:
        yield error("profile", "it cannot be armed", reason)
    if profile.collisions == "none":
        yield warning(
            "collisions",
            "nothing keeps the robot off itself",
            "make a model with `tendon robot collisions`, if it can meet itself",
        )


def _home(profile: RobotProfile) -> Iterator[Finding]:
    """Yields what is too close at home, and what the tracking tolerances amount to."""
    clearance, home = Clearance(profile), profile.vector("home")
    distances = clearance.distances(home)
    for k in np.flatnonzero(distances < clearance.margin):
        yield error(
            "home",
            f"{clearance.names[k]} is {distances[k] * 1e3:.0f} mm, its margin {clearance.margin[k] * 1e3:.0f} mm",
            "choose another home, or look at `tendon robot show`: where the shapes are too wide, allow the pair",
        )
    for joint in (joint for joint in profile.joints if joint.name in profile.groups.get("arm", ())):
        if min(joint.home - joint.lower, joint.upper - joint.home) < NEAR_LIMIT:
            yield warning(
                f"joint {joint.name}",
                f"its home {joint.home:g} is at its limit",
                "choose a home with room on both sides",
            )
    tolerance = np.where(np.isfinite(profile.tracking_tolerance), profile.tracking_tolerance, 0.0)
    moved = clearance.reach @ tolerance
    if (bodies := clearance.margin > 0).any():  # the faces of the workspace have no margin
        worst = int(np.argmax(np.where(bodies, moved - clearance.margin, -np.inf)))
        yield note(
            "tracking_tolerance",
            f"with every joint at its tolerance {clearance.names[worst]} is off by up to {moved[worst] * 1e3:.0f} mm, "
            f"its margin is {clearance.margin[worst] * 1e3:.0f} mm",
            "measure with `tendon robot tracking`: a margin has to cover the errors of usual motions",
        )

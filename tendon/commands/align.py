"""Make a simulator move as a robot does: find how its servos follow, in a recording of free motion.

Delay, time constant, friction, weight and inertia of each joint come out, as far as the recording tells them. Slow
motion tells only the lag, the sum of delay and time constant: the table shows that. From then on simulators of this
profile move by what was found. The last quarter of the recording is kept out: it says how much nearer the simulator is,
and a joint that is no nearer is left as it was. Record half a minute and more in which every joint moves and nothing is
touched: docs/how-to/simulation.md

Examples:
  tendon align outputs/recordings/episode-000003.mcap
  tendon align outputs/recordings/episode-000003.mcap --robot my_robot/profile.yaml --out outputs/response.yaml
  tendon align outputs/recordings/episode-000003.mcap --simulator mujoco --dry-run
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer
from rich.table import Table

from tendon.core.types import Array

if TYPE_CHECKING:
    from tendon.calibration.servos import Found, Log
    from tendon.data.reading.recording import McapRecording
    from tendon.robots.profile import RobotProfile
    from tendon.robots.servo_response import ServoResponse

MM = 1e3
"""Milliradians of a radian, millimetres of a metre."""


def command(
    recording: Annotated[Path, typer.Argument(metavar="FILE", help="MCAP of `tendon record`.")],
    robot: Annotated[
        str, typer.Option(metavar="ROBOT", help="Robot profile: a name or a file; by default the recording's.")
    ] = "",
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="By default response.yaml beside the profile.")
    ] = None,
    simulator: Annotated[
        str, typer.Option(metavar="NAME", help="That is aligned: pybullet, mujoco, or auto.")
    ] = "auto",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Write nothing.")] = False,
) -> int:
    """Finds and writes it; returns 1 when the simulator is no nearer by it.

    Raises:
        TendonError: the recording is none of this robot, or does not tell enough.
    """
    from rich.console import Console

    from tendon.calibration.servos import find_responses
    from tendon.cli.outputs import require_file, require_ours
    from tendon.core.files import set_aside
    from tendon.data.reading.observations import require_begin
    from tendon.data.reading.recording import McapRecording
    from tendon.robots.profile import load_profile, profile_file
    from tendon.robots.profile_edit import name_response
    from tendon.robots.servo_response import ServoResponse, write_response
    from tendon.sim.replay import replay
    from tendon.sim.simulators import choose

    console, simulator = Console(), choose(simulator)
    opened = McapRecording(recording)
    named = robot or require_begin(opened).robot
    file = profile_file(named)
    profile, target = load_profile(file).uncalibrated, out or file.parent / "response.yaml"
    if not dry_run:
        require_file(target)
    if out is not None:
        require_ours(out, "--out", b"settling_s:")
    travel = profile.vector("upper") - profile.vector("lower")
    with console.status("reading, and moving the simulator as the robot was commanded ..."):
        log = _read(opened, profile, simulator)
        found = find_responses(log, profile.joint_names, travel)
    known = frozenset(k for k, each in enumerate(found) if each.known)
    for each in found:
        if each.problem:
            print(f"left as it was: {each.problem}")
    if not known:
        print("nothing was written: it tells of no joint; record a motion in which all of them move throughout")
        return 1
    kept = _kept(load_profile(file).response, profile)

    @cache
    def error(of: frozenset[int]) -> tuple[ServoResponse, Array]:
        """Returns the responses with some joints' as found, and what a simulator is off by with them."""
        mixed = ServoResponse([each.response if k in of else kept.joints[k] for k, each in enumerate(found)])
        with console.status("moving the simulator by what was found ..."):
            return mixed, log.held_out_error(replay(profile, log.times_s, log.commanded, mixed, simulator))

    _, before = error(frozenset())
    _, with_all = error(known)
    tried = frozenset(k for k in known if log.moves_held_out(k))
    nearer = frozenset(k for k in tried if with_all[k] <= before[k])
    response, after = error(nearer)
    left = {k: "no nearer" if k in tried else "untried" for k in known - nearer}
    console.print(_table(profile.joint_names, found, left, MM * before, MM * after))
    if not tried:
        print("nothing was written: in the last quarter, where it would be tried, no joint moves that was found")
        return 1
    if not nearer:
        print("the simulator is no nearer to the robot by it: nothing was written")
        return 1
    if dry_run:
        print("nothing was written")
        return 0
    aside = set_aside(target)
    write_response(response, target, profile.name, profile.joint_names)
    print(f"response: {target}" + (f" (the one before: {aside})" if aside else ""))
    if out is None:
        name_response(file, target.name)
        print(f"profile: {file} names it")
    return 0


def _read(opened: McapRecording, profile: RobotProfile, simulator: str) -> Log:
    """Returns the log in a recording of a robot, with what a simulator does with the same commands."""
    from tendon.calibration.servos import Log, moving_part
    from tendon.core.errors import InvalidDataError, MismatchError
    from tendon.data.convert.motion import Commands
    from tendon.data.reading.observations import require_begin
    from tendon.data.reading.recording import decode
    from tendon.observation.joints import joint_sample
    from tendon.sim.replay import replay
    from tendon.sim.response import Gravity

    begin, recording = require_begin(opened), opened.path
    if opened.fault:
        raise InvalidDataError(f"{recording} is bad: {opened.fault}; record again")
    if begin.roles.joint_names != profile.joint_names:
        raise MismatchError(
            f"{recording} has joints {', '.join(begin.roles.joint_names)}; {profile.name} has "
            f"{', '.join(profile.joint_names)}: name its own robot, or record this one"
        )
    commands = Commands(opened, profile)
    if commands.begin_ns is None:
        raise InvalidDataError(f"{recording} has no commands of every controller of {profile.name}: record a motion")
    topic = begin.roles.joint_states
    samples = [joint_sample(profile.joint_names, decode(each)) for each in opened.samples([topic])]
    states = {each.stamp_ns: each.position for each in samples if each.stamp_ns >= commands.begin_ns}
    stamps = np.array(sorted(states), dtype=np.int64)
    if len(stamps) < 2:
        raise InvalidDataError(f"{recording} has {len(stamps)} joint states after the first command: record a motion")
    sent = commands.between(stamps)
    part = moving_part((stamps - stamps[0]) * 1e-9, sent)
    stamps, commanded = stamps[part], sent[part]
    times = (stamps - stamps[0]) * 1e-9
    gravity = Gravity(profile)
    return Log(
        times_s=times,
        commanded=commanded,
        measured=np.array([states[stamp] for stamp in stamps.tolist()]),
        simulated=replay(profile, times, commanded, simulator=simulator),
        gravity=np.array([gravity.at(row) for row in commanded]),
    )


def _kept(file: Path | None, profile: RobotProfile) -> ServoResponse:
    """Returns the response that a profile has, ideal where it has none, or one that cannot be read."""
    from tendon.core.errors import ConfigError
    from tendon.robots.servo_response import JointResponse, ServoResponse, read_response

    with contextlib.suppress(ConfigError):
        if file is not None:
            return read_response(file, profile.name, profile.joint_names)
    return ServoResponse([JointResponse()] * len(profile.joint_names))


def _table(names: Sequence[str], found: Sequence[Found], left: Mapping[int, str], before: Array, after: Array) -> Table:
    table = Table("joint", caption="before, after: what the simulator is off by on the last quarter [mrad, mm]")
    table.columns[0].no_wrap = True
    for heading in ("lag [ms]", "friction", "before", "after"):
        table.add_column(heading, justify="right")
    for k, (name, each) in enumerate(zip(names, found, strict=True)):
        told = [f"{1e3 * each.response.lag_s:.1f}", f"{MM * each.response.friction:.1f}"]
        if k in left:
            told = [left[k], "as it was"]
        elif not each.known:
            told = ["no servo" if each.moved else "still", "as it was"]
        table.add_row(name, *told, f"{before[k]:.1f}", f"{after[k]:.1f}")
    return table

"""Calibrate a rig from a session: where cameras are and how joints are off, with a report; the profile names it then.

A session is a folder of pictures with the joints they were taken at (docs/how-to/calibrate.md). What it does not ask
for stays as the robot's calibration has it: other cameras, zeros and latencies. A calibration that is not good is not
written, unless --anyway and a robot can be loaded with it; the one before is kept beside the new one.

Examples:
  tendon calibrate solve outputs/calibration/session
  tendon calibrate solve outputs/calibration/session --report outputs/report.html --dry-run
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def command(
    session: Annotated[Path, typer.Argument(metavar="SESSION", help="Folder with session.yaml.")],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="By default what the profile names, or calibration.yaml beside.")
    ] = None,
    report: Annotated[Path | None, typer.Option(metavar="FILE", help="By default report.html in the session.")] = None,
    anyway: Annotated[bool, typer.Option("--anyway", help="Write a calibration that is not good, too.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Write the report alone.")] = False,
) -> int:
    """Calibrates; returns 1 when it is not good.

    Raises:
        TendonError: the session or the calibration before is wrong, or the views do not tell the rig.
    """
    from tendon.calibration.left_out import LeftOut
    from tendon.calibration.results.composing import solve_onto
    from tendon.calibration.results.keeping import calibration_target, keep_solved, named_record
    from tendon.calibration.results.record import record_of
    from tendon.calibration.results.report import faults, reservations, sentences, write_report
    from tendon.calibration.rig.diagnosis import zeros_too_far
    from tendon.calibration.session import Session
    from tendon.cli.outputs import require_file
    from tendon.cli.progress import CountingBar
    from tendon.core.errors import ConfigError
    from tendon.robots.profile import load_profile, profile_file

    opened = Session(session)
    profile, file = load_profile(opened.setup.robot), profile_file(opened.setup.robot)
    before, page = named_record(profile), report or session / "report.html"
    if page.suffix.lower() not in (".html", ".htm"):
        raise ConfigError(f"--report is {page}, must end with .html")
    require_file(page, "--report")
    if not dry_run:
        require_file(out or calibration_target(profile, file))
    rig = opened.rig(profile)
    shots = list(opened.shots())
    left_out = LeftOut()
    with CountingBar("views", len(shots)) as bar:
        views = opened.views(rig, left_out.add, lambda: bar.advance(1, ""))
    for line in left_out.lines():
        print(line)
    found = solve_onto(rig, views, before)
    wrong, doubted = faults(found), reservations(found)
    old_page = write_report(found, wrong, page, opened.pixels, doubted)
    for sentence in (*sentences(found), *doubted):
        print(sentence)
    for sentence in wrong:
        print(f"not good: {sentence}")
    print(f"report: {page}" + (f" (the one before: {old_page})" if old_page else ""))
    if dry_run or zeros_too_far(found) or (wrong and not anyway):
        print("nothing else was written")
        return int(bool(wrong))
    kept = keep_solved(profile, file, record_of(found, "; ".join(wrong) or "; ".join(["good", *doubted])), out)
    print("\n".join(kept.lines()))
    if out is None:
        print(f"profile: {file} names it")
    return int(bool(wrong))

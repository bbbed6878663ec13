"""A bundle that is bound to a calibration: it fits the robot with it, and is refused on one with another."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

from tendon.calibration.results.file import write_record
from tendon.calibration.results.record import CalibrationRecord
from tendon.core.errors import MismatchError
from tendon.policies.adapter.matching import check_profile, robot_digests
from tendon.policies.bundle.bundle import load_bundle, write_bundle
from tendon.policies.bundle.places import find_bundle
from tendon.robots.profile import load_profile

BUNDLE = "bundles/tabletop"


def bound_bundle(profile_file: Path, record: CalibrationRecord, out: Path) -> tuple[bool, str]:
    """Binds a copy of a bundle to a robot; returns whether it starts there, and why not after another calibration.

    The calibration is the first one again in the end; the other one is kept beside it, as every backup is.

    Raises:
        TendonError: the bundle does not fit the robot at all.
    """
    profile = load_profile(profile_file)
    bundle = load_bundle(find_bundle(BUNDLE))
    manifest = replace(bundle.manifest, made_for={})
    check_profile(manifest, profile)
    folder = out / "bundle"
    shutil.rmtree(folder, ignore_errors=True)
    bound = write_bundle(folder, replace(manifest, made_for=robot_digests(profile)), bundle.content)
    check_profile(bound.manifest, profile)
    file = profile.calibration
    assert file is not None
    kept = write_record(replace(record, date="2026-01-01T00:00:00Z"), file)
    refusal = ""
    try:
        check_profile(bound.manifest, load_profile(profile_file))
    except MismatchError as error:
        refusal = str(error)
    write_record(record, file)
    if kept is not None:
        kept.unlink()
    return True, refusal

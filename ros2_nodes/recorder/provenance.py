"""What a recording is of: the files behind robot, policy and scene, each by its SHA-256."""

from __future__ import annotations

import hashlib
from pathlib import Path

from tendon.core.paths import share_folder
from tendon.evaluation.suite_file import is_suite_file
from tendon.policies.bundle.bundle import MANIFEST_FILE
from tendon.policies.residual.bundle import RESIDUAL_FILE
from tendon.robots.calibration import calibration_digest
from tendon.robots.digest import profile_digest
from tendon.robots.profile import RobotProfile


def hashes(profile: RobotProfile, policy: str, suite: str, residual: str) -> dict[str, str]:
    """Returns name to SHA-256 of all that there is.

    Args:
        profile: of the robot, which may name a calibration.
        policy: folder of a bundle, file that names a server, or neither.
        suite: name of a suite, or a file of one.
        residual: folder of what corrects the policy, or empty.
    """
    found = {"profile": profile_digest(profile)}
    if profile.calibration is not None:
        found["calibration"] = calibration_digest(profile.calibration)
    place = Path(policy)
    files = {
        "policy": place / MANIFEST_FILE if place.is_dir() else place,
        "suite": Path(suite) if is_suite_file(suite) else share_folder() / "suites" / f"{suite}.yaml",
        "residual": Path(residual) / RESIDUAL_FILE,
    }
    for name, file in files.items():
        if file.is_file():
            found[name] = hashlib.sha256(file.read_bytes()).hexdigest()
    return found

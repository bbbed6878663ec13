"""What two processes compare to know that they have loaded the same profile."""

from __future__ import annotations

import hashlib
from dataclasses import fields
from pathlib import Path

from tendon.robots.profile import RobotProfile


def profile_digest(profile: RobotProfile, *, whole: bool = False) -> str:
    """Returns a SHA-256 of everything in a profile that a filter uses, and of the robot model's files.

    The thresholds of the monitor and of the modes are not: they decide when a filter's answers are played. Nor is who
    makes controllers inactive. `whole`: these as well.
    """
    digest = hashlib.sha256()
    for field in fields(profile):
        if field.name in ("safety", "controller_manager") and not whole:
            continue
        value = getattr(profile, field.name)
        if isinstance(value, Path):
            digest.update(value.read_bytes())
        else:
            digest.update(f"{field.name}={value!r};".encode())
    return digest.hexdigest()

"""Where numbers come from: the command, what was measured, on what, with which versions."""

from __future__ import annotations

import datetime
import hashlib
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tendon.core.machine import machine, versions
from tendon.core.paths import share_folder
from tendon.evaluation.suite_file import is_suite_file
from tendon.robots.profile import profile_file


def origin(*, policies: Mapping[str, str], robot: str, suite: str) -> dict[str, Any]:
    """Returns it as plain values.

    Args:
        policies: their digests, by what they are called.
        robot: profile; empty when it is not known.
        suite: name or file.
    """
    hashes = {f"policy {name}": digest for name, digest in policies.items()}
    if robot:
        hashes["profile"] = _hash(profile_file(robot))
    file = Path(suite) if is_suite_file(suite) else share_folder() / "suites" / f"{suite}.yaml"
    if file.is_file():
        hashes["suite"] = _hash(file)
    return {
        "command": shlex.join(["tendon", *sys.argv[1:]]),
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "versions": versions(),
        "machine": machine(),
        "sha256": hashes,
    }


def _hash(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()

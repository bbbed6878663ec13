"""The end of every export: a bundle with the receipt of its parity, read back, run on its robot, and compared again."""

from __future__ import annotations

from pathlib import Path

from tendon.core.errors import MismatchError
from tendon.policies.bundle.bundle import Bundle, write_bundle
from tendon.policies.engines.engine import Engine
from tendon.policies.export.exported import Exported, Report
from tendon.policies.inference.policy import BundlePolicy
from tendon.policies.parity.bundle import Repetition, repeat_parity
from tendon.policies.parity.receipt import receipt_files, receipt_here
from tendon.policies.spec.manifest import Manifest
from tendon.robots.profile import RobotProfile

ENGINE = Engine("cpu")
"""What parity is measured on: every machine has it."""
STAGES = 3
"""How many `write_checked_bundle` reports."""


def write_checked_bundle(
    folder: Path, manifest: Manifest, made: Exported, source: str, profile: RobotProfile, report: Report
) -> tuple[Bundle, Repetition]:
    """Writes a bundle and returns it with its parity as it was read back and repeated.

    Args:
        folder: see `write_bundle`.
        manifest: its `files` are ignored.
        made: graphs that hold their bounds.
        source: in words, what computed the answers in `made.cases`; the receipt says so.
        profile: the robot that it is for.
        report: told of each stage before it begins.

    Raises:
        ConfigError: see `write_bundle`.
        MismatchError: policy and robot do not fit, or the bundle does not repeat its parity.
    """
    report("writing, and reading it back")
    receipt = receipt_here(source, made.parity)
    written = write_bundle(folder, manifest, {**made.files, **receipt_files(receipt, made.cases)})
    report(f"trying it on {profile.name}")
    BundlePolicy(written, profile, ENGINE).warm_up(1)
    report("repeating its parity")
    repetition = repeat_parity(written, ENGINE)
    if not repetition.passed:
        raise MismatchError(f"policy {manifest.name} does not repeat its own parity as a bundle: do not deploy it")
    return written, repetition

"""From a folder or a file to a policy that is ready to run: the one place that tells a bundle from a server."""

from __future__ import annotations

from pathlib import Path

from tendon.policies.bundle.bundle import load_bundle
from tendon.policies.detector.detector import Detector
from tendon.policies.detector.file import load_detector
from tendon.policies.engines.engine import Engine
from tendon.policies.inference.loaded import Loaded
from tendon.policies.inference.policy import BundlePolicy
from tendon.policies.remote import require_remote
from tendon.policies.remote.policy import RemotePolicy
from tendon.policies.residual.bundle import load_residual
from tendon.robots.profile import RobotProfile

LoadedPolicy = BundlePolicy | RemotePolicy
"""Whatever the place, it has a name, cameras, chunks, steering, `warm_up` and `close`."""


def load_place(
    place: Path, profile: RobotProfile, engine: Engine | None, residual: Path | None = None
) -> Loaded[LoadedPolicy]:
    """Loads the bundle in a folder, or connects to the server that a file names.

    Args:
        place: from `find_policy`.
        profile: the robot.
        engine: what runs the graphs of a bundle; `None` takes the best there is. A server has its own.
        residual: folder of what corrects the policy: its detector watches a policy that it is for, if it has one.

    Raises:
        TendonError: it is damaged, does not fit the robot, or cannot be reached.
    """
    if place.is_file():
        require_remote()
        from tendon.policies.remote.opening import open_policy

        remote = open_policy(place, profile)
        return Loaded(name=remote.name, policy=remote)
    bundle = load_bundle(place)
    policy, calibration = BundlePolicy(bundle, profile, engine), load_detector(bundle)
    if residual is not None and (corrects := load_residual(residual)).manifest.base_digest == policy.digest:
        calibration = load_detector(bundle, corrects.content) or calibration
    return Loaded(
        name=bundle.manifest.name,
        policy=policy,
        detector=None if calibration is None else Detector(calibration),
    )

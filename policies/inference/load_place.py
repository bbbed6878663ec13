"""From the word of a user, a folder or a file, to a policy that is ready to run."""

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
from tendon.robots.profile import RobotProfile


def load_place(place: str, profile: RobotProfile, engine: Engine | None) -> Loaded[BundlePolicy | RemotePolicy]:
    """Loads the bundle in a folder, or connects to the server that a file names.

    Raises:
        TendonError: it is damaged, does not fit the robot, or cannot be reached.
    """
    if Path(place).is_file():
        require_remote()
        from tendon.policies.remote.opening import open_policy

        remote = open_policy(Path(place), profile)
        return Loaded(name=remote.name, policy=remote)
    bundle = load_bundle(place)
    calibration = load_detector(bundle)
    return Loaded(
        name=bundle.manifest.name,
        policy=BundlePolicy(bundle, profile, engine),
        detector=None if calibration is None else Detector(calibration),
    )

"""Bind a bundle to a robot's joints, limits, kinematics, cameras and calibration: on another it is refused then.

The calibration is the one that the profile names, if it does.

Examples:
  tendon policy pin bundles/tabletop
  tendon policy pin bundles/mine --robot robots/mine/profile.yaml
"""

from __future__ import annotations

from dataclasses import replace

from tendon.cli.options import BundleArgument, RobotOption


def command(bundle: BundleArgument, robot: RobotOption = "panda") -> int:
    """Writes the digests of the robot into the bundle.

    Raises:
        TendonError: the bundle or the profile is refused, or one does not fit the other.
    """
    from tendon.policies.adapter.matching import check_profile, robot_digests
    from tendon.policies.bundle.bundle import load_bundle, write_bundle
    from tendon.policies.bundle.places import find_bundle
    from tendon.robots.profile import load_profile

    source, profile = load_bundle(find_bundle(bundle)), load_profile(robot)
    digests = robot_digests(profile)
    check_profile(replace(source.manifest, made_for={}), profile)
    written = write_bundle(source.folder, replace(source.manifest, made_for=digests), source.content)
    print(f"{source.folder} is bound to {profile.name}: {', '.join(digests)}; digest {written.digest[:12]}")
    if source.signer is not None:
        print("its signature was removed, for its content changed: sign it again")
    return 0

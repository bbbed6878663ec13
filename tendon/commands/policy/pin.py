"""Bind a bundle to a robot's joints, limits, kinematics, cameras and calibration: on another it is refused then.

The calibration is the one that the profile names, if it does. With --trained-on the bundle also tells from where
the cameras of that robot saw in training, by its calibration or its mounts: on a robot whose calibration has them
elsewhere, pictures are redrawn as if seen from there.

Examples:
  tendon policy pin bundles/tabletop
  tendon policy pin bundles/mine --robot robots/mine/profile.yaml
  tendon policy pin bundles/mine --robot robots/mine/profile.yaml --trained-on panda --plane-m 0.02
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from tendon.cli.options import BundleArgument, RobotOption


def command(
    bundle: BundleArgument,
    robot: RobotOption = "panda",
    trained_on: Annotated[
        str, typer.Option(metavar="ROBOT", help="Tell the places of this robot's cameras as those of training.")
    ] = "",
    plane_m: Annotated[
        float, typer.Option(min=-2, max=2, help="Height above the base at which things are; with --trained-on.")
    ] = 0.0,
) -> int:
    """Writes the digests of the robot into the bundle.

    Raises:
        TendonError: the bundle or the profile is refused, or one does not fit the other.
    """
    from tendon.policies.adapter.matching import check_profile, robot_digests
    from tendon.policies.bundle.bundle import load_bundle, write_bundle
    from tendon.policies.bundle.places import find_bundle
    from tendon.policies.inference.virtual_cameras import VirtualCameras, with_views
    from tendon.robots.profile import load_profile

    source, profile = load_bundle(find_bundle(bundle)), load_profile(robot)
    manifest, digests = replace(source.manifest, made_for={}), robot_digests(profile)
    if trained_on:
        manifest = replace(manifest, cameras=with_views(manifest.cameras, load_profile(trained_on), plane_m))
    check_profile(manifest, profile)
    redrawn = VirtualCameras(manifest.cameras, profile).said()
    written = write_bundle(source.folder, replace(manifest, made_for=digests), source.content)
    print(f"{source.folder} is bound to {profile.name}: {', '.join(digests)}; digest {written.digest[:12]}")
    for sentence in redrawn:
        print(sentence)
    if source.signer is not None:
        print("its signature was removed, for its content changed: sign it again")
    return 0

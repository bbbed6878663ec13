"""Makes the collision model of a robot from the meshes of a URDF."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from rich.progress import track

from tendon.cli.outputs import write_whole
from tendon.core.errors import ConfigError
from tendon.robots.collision.file import to_yaml
from tendon.robots.collision.fit import LinkMesh, fit_shapes, load_meshes
from tendon.robots.collision.model import CollisionModel, Pair, load_collisions
from tendon.robots.collision.pairs import PairSampler
from tendon.robots.model import build_model
from tendon.robots.profile import Box, ControllerSpec, Joint, RobotProfile, load_profile, profile_file
from tendon.robots.profile_edit import name_collisions, named_collisions
from tendon.robots.urdf import read_urdf

MIN_SAMPLES = 1000
DEFAULT_MARGIN = 0.01


def make_collisions(
    robot: str | None, urdf: Path | None, package_dir: Path | None, out: Path | None, samples: int
) -> RobotProfile:
    """Writes a collision model, and its name into the profile.

    Args:
        robot: name or file of the profile; `None` takes joints and limits from the URDF alone.
        urdf: with collision meshes; by default the profile's.
        package_dir: what `package://` stands for.
        out: file to write; by default what the profile names, or collisions.yaml beside it.
        samples: random configurations to look at.

    Returns:
        The profile with its model.

    Raises:
        ConfigError: a file is missing or wrong, or `out` cannot be written.
    """
    if samples < MIN_SAMPLES:
        raise ConfigError(f"--samples is {samples}, must be at least {MIN_SAMPLES}: fewer miss pairs that meet")
    file = profile_file(robot) if robot is not None else None
    named = named_collisions(file) if file is not None else None
    if file is not None:
        profile, default = load_profile(file, without_collisions=True), file.parent / (named or "collisions.yaml")
    elif urdf is not None:
        profile, default = _bare_profile(urdf), Path("collisions.yaml")
    else:
        raise ConfigError("name a robot of robots/, or give --urdf FILE")
    out = out or default
    if not os.access(out.parent, os.W_OK):  # before a minute of work
        raise ConfigError(f"cannot write {out}: {out.parent} is no folder that this user may write in")
    meshes = load_meshes(urdf or profile.urdf, package_dir)
    links = read_urdf(profile.urdf).links
    unknown = [mesh.link for mesh in meshes if mesh.link not in links]
    if unknown:
        print(f"left out, as {profile.urdf.name} does not have them: {', '.join(unknown)}")
    meshes = [mesh for mesh in meshes if mesh.link in links]
    model, checked = fit_model(profile, meshes, samples, load_collisions(out) if out.is_file() else None)
    write_whole(out, to_yaml(model, comments_on(robot, urdf or profile.urdf, samples, profile, meshes)))
    print(
        f"wrote {out}: {sum(map(len, model.bodies.values()))} shapes on {len(meshes)} links, {checked} pairs to check"
    )
    if file is not None:
        name_in_profile(file, named, out)
    return replace(profile, collisions=out)


def fit_model(
    profile: RobotProfile,
    meshes: Sequence[LinkMesh],
    samples: int,
    before: CollisionModel | None = None,
    disabled: Mapping[Pair, str] | None = None,
) -> tuple[CollisionModel, int]:
    """Returns a collision model and how many pairs of links it checks; shows how far it is.

    Args:
        profile: the robot.
        meshes: its links.
        samples: random configurations to look at.
        before: the model that it replaces: margins, and pairs with a body of an environment, are taken from it.
        disabled: pairs that the robot's maker does not check, with the reason. One that is "never" to meet and was
            found to is checked all the same.
    """
    lower, upper, home = (
        dict(zip(profile.joint_names, profile.vector(what).tolist(), strict=True))
        for what in ("lower", "upper", "home")
    )
    bodies = {mesh.link: fit_shapes(mesh) for mesh in track(meshes, "fitting shapes", transient=True)}
    sampler = PairSampler(profile.urdf, meshes, lower, upper)
    # A home that is a guess may be in collision itself: it says nothing of what is free.
    overlapping = set() if "home" in profile.unknown else sampler.overlapping_at(home)
    for _ in track(sampler.sample(samples), "sampling", total=samples, transient=True):
        pass
    for _ in track(sampler.search(), "searching", total=len(sampler.pairs), transient=True):
        pass
    margin, margins = (before.margin, before.margins) if before is not None else (DEFAULT_MARGIN, {})
    met = {pair for pair, least in zip(sampler.pairs, sampler.smallest, strict=True) if least <= 0}
    allowed = {
        pair: why
        for pair, why in (disabled or {}).items()
        if pair in sampler.pairs and not (why == "never" and pair in met)
    }
    allowed |= sampler.allowed(margin, overlapping)
    checked = len(sampler.pairs) - len(allowed)
    # The sampling knows no environment: a person wrote these.
    allowed |= {pair: why for pair, why in (before.allowed if before is not None else {}).items() if pair - set(bodies)}
    return CollisionModel(bodies=bodies, allowed=allowed, margin=margin, margins=margins), checked


def name_in_profile(profile: Path, named: str | None, out: Path) -> None:
    """Makes the profile name its new model, or says what to write where it names another one."""
    folder, model = profile.parent.resolve(), out.resolve()
    value = model.relative_to(folder).as_posix() if model.is_relative_to(folder) else str(model)
    if named is None:
        name_collisions(profile, value)
        print(f"{profile} names it now: collisions: {value}")
    elif (folder / named).resolve() != model:
        print(f"{profile} still names {named}; to use this one, write there: collisions: {value}")


def comments_on(
    robot: str | None, source: Path, samples: int, profile: RobotProfile, meshes: Sequence[LinkMesh]
) -> list[str]:
    """Returns what a file of a collision model says of itself, a line each."""
    named = f"{robot} " if robot is not None else ""
    return [
        f"Collision model of {profile.name}, made by",
        f"  tendon robot collisions {named}--urdf {source.name} --samples {samples}",
        f"A link's shapes contain all of its collision mesh ({len(meshes)} links); in m, in the link's frame.",
        f"Pairs that need no check were found with the meshes' convex hulls in {samples} random configurations:",
        "adjacent: a joint, or a mirrored finger; always: they overlap at home or never were three margins apart, so",
        "shapes cannot tell; never: neither these nor a search from the nearest of them had the pair nearer than twice",
        "the margin, which is no proof that nothing has.",
        "Margins and pairs with a body of an environment are yours to change; the rest is replaced the next time.",
    ]


def _bare_profile(urdf: Path) -> RobotProfile:
    """Returns a profile of a URDF alone: its joints and position limits, home a guess, the rest arbitrary."""
    description, model = read_urdf(urdf), build_model(urdf)
    followers = {mimic.joint for mimic in description.mimics}
    joints = []
    for name, joint in zip(list(model.names)[1:], list(model.joints)[1:], strict=True):
        if name not in followers:
            low, high = float(model.lowerPositionLimit[joint.idx_q]), float(model.upperPositionLimit[joint.idx_q])
            home = min(max(0.0, low), high)
            joints.append(Joint(name=name, lower=low, upper=high, velocity=1.0, acceleration=1.0, jerk=1.0, home=home))
    names = tuple(joint.name for joint in joints)
    return RobotProfile(
        name=urdf.stem,
        urdf=urdf,
        base_frame=description.root,
        tool_frame=description.links[-1],
        joints=tuple(joints),
        groups={},
        controllers=(ControllerSpec(name="all", type="joint_trajectory", joints=names),),
        cameras=(),
        workspace=Box(lower=(-10.0, -10.0, -10.0), upper=(10.0, 10.0, 10.0)),
        unknown=("home",),
    )

"""Make the collision model of a robot from its meshes, and draw it with its surroundings."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

import pinocchio as pin
from rich.console import Console
from rich.progress import track
from rich.table import Table

from tendon.control.clearance import Clearance
from tendon.core.collision import CollisionModel, load_collisions
from tendon.core.collision_file import to_yaml
from tendon.core.collision_fit import LinkMesh, PairSampler, fit_shapes, load_meshes
from tendon.core.environment import Environment, load_environment
from tendon.core.errors import ConfigError
from tendon.core.profile import Box, Controller, Joint, RobotProfile, load_profile
from tendon.core.types import Array
from tendon.core.urdf import mimics
from tendon.evaluation.robot_picture import draw_robot, save_picture

COLLISIONS_EXAMPLES = """examples:
  tendon robot collisions panda --urdf franka/panda.urdf --package-dir franka
      shapes from the manufacturer's meshes, joints and limits from robots/panda: writes robots/panda/collisions.yaml
  tendon robot collisions --urdf my_arm.urdf --out collisions.yaml --picture arm.png
      a robot without a profile yet
Margins, and allowed pairs with a body of an environment, are kept from a file that is there already."""
SHOW_EXAMPLES = """examples:
  tendon robot show panda --picture panda.png
  tendon robot show panda --environment tabletop"""
LEAST_SAMPLES = 1000
DEFAULT_MARGIN = 0.01
SHOWN_ROWS = 8


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the two things to do."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    made = _action(actions, "collisions", "make collisions.yaml from a URDF's collision meshes", COLLISIONS_EXAMPLES)
    made.add_argument("robot", nargs="?", help="folder in robots/, or path of a profile.yaml")
    made.add_argument("--urdf", type=Path, help="URDF with collision meshes; by default the profile's")
    made.add_argument("--package-dir", type=Path, help="folder that package:// stands for")
    made.add_argument("--out", type=Path, help="by default collisions.yaml beside the profile, or here without one")
    made.add_argument("--samples", type=int, default=10_000, help="random configurations to look at (default 10000)")
    shown = _action(actions, "show", "draw the collision model and list the smallest distances at home", SHOW_EXAMPLES)
    shown.add_argument("robot", help="folder in robots/, or path of a profile.yaml")
    for action in (made, shown):
        action.add_argument("--environment", help="file in environments/, or path of a .yaml, to draw around it")
        action.add_argument("--picture", type=Path, help="a .png to write")


def run(args: argparse.Namespace) -> int:
    """Does it and prints the smallest distances at home; returns 1 when one is below its margin.

    Raises:
        ConfigError: a file is missing or wrong.
    """
    environment = load_environment(args.environment) if args.environment else None
    if args.action == "show":
        profile, meshes = load_profile(args.robot), list[LinkMesh]()
        if profile.collisions is None:
            raise ConfigError(f"profile {profile.name} has no collisions; make them with `tendon robot collisions`")
    else:
        profile, meshes = _make(args)
    home = profile.vector("home")
    short = _report(profile, environment, home)
    if args.picture is not None:
        surface = {mesh.link: mesh.triangles for mesh in meshes}
        save_picture(draw_robot(profile, environment, home, surface), args.picture)
        print(f"wrote {args.picture}")
    return int(short)


def _action(
    actions: argparse._SubParsersAction[Any], name: str, summary: str, examples: str
) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = actions.add_parser(
        name,
        help=summary,
        description=summary,
        epilog=examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    return parser


def _make(args: argparse.Namespace) -> tuple[RobotProfile, list[LinkMesh]]:
    """Writes the collision model; returns the profile with it, and the meshes it was fitted to."""
    if args.robot is None and args.urdf is None:
        raise ConfigError("name a robot of robots/, or give --urdf FILE")
    if args.samples < LEAST_SAMPLES:
        raise ConfigError(f"--samples is {args.samples}, must be at least {LEAST_SAMPLES}: fewer miss pairs that meet")
    profile = load_profile(args.robot) if args.robot is not None else _bare_profile(args.urdf)
    meshes = load_meshes(args.urdf or profile.urdf, args.package_dir)
    links = {frame.name for frame in pin.buildModelFromUrdf(str(profile.urdf)).frames}
    unknown = [mesh.link for mesh in meshes if mesh.link not in links]
    if unknown:
        print(f"left out, as {profile.urdf.name} does not have them: {', '.join(unknown)}")
    meshes = [mesh for mesh in meshes if mesh.link in links]
    lower = dict(zip(profile.joint_names, profile.vector("lower").tolist(), strict=True))
    upper = dict(zip(profile.joint_names, profile.vector("upper").tolist(), strict=True))
    home = dict(zip(profile.joint_names, profile.vector("home").tolist(), strict=True))
    bodies = {mesh.link: fit_shapes(mesh) for mesh in track(meshes, "fitting shapes", transient=True)}
    sampler = PairSampler(profile.urdf, meshes, lower, upper)
    overlapping = sampler.overlapping_at(home)
    for _ in track(sampler.sample(args.samples), "sampling", total=args.samples, transient=True):
        pass
    beside = profile.urdf.parent if args.robot is None else _folder(args.robot, profile)
    out = args.out or (Path("collisions.yaml") if args.robot is None else beside / "collisions.yaml")
    before = load_collisions(out) if out.is_file() else None
    margin, margins = (before.margin, before.margins) if before is not None else (DEFAULT_MARGIN, {})
    allowed = sampler.allowed(margin, overlapping)
    checked = len(sampler.pairs) - len(allowed)
    # The sampling knows no environment: a person wrote these.
    allowed |= {pair: why for pair, why in (before.allowed if before is not None else {}).items() if pair - set(bodies)}
    model = CollisionModel(bodies=bodies, allowed=allowed, margin=margin, margins=margins)
    try:
        out.write_text(to_yaml(model, _comments(args, profile, meshes)), encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"cannot write {out}: {error}") from error
    print(f"wrote {out}: {sum(map(len, bodies.values()))} shapes on {len(bodies)} links, {checked} pairs to check")
    return replace(profile, collisions=out), meshes


def _comments(args: argparse.Namespace, profile: RobotProfile, meshes: list[LinkMesh]) -> list[str]:
    robot = f"{args.robot} " if args.robot is not None else ""
    source = args.urdf or profile.urdf
    return [
        f"Collision model of {profile.name}, made by",
        f"  tendon robot collisions {robot}--urdf {source.name} --samples {args.samples}",
        f"A link's shapes contain all of its collision mesh ({len(meshes)} links); in m, in the link's frame.",
        f"Pairs that need no check were found with the meshes' convex hulls in {args.samples} random configurations:",
        "adjacent: a joint, or a mirrored finger; always: they overlap at home or never were three margins apart, so",
        "shapes cannot tell; never: they stayed further apart than twice the margin.",
        "Margins and pairs with a body of an environment are yours to change; the rest is replaced the next time.",
    ]


def _folder(robot: str, profile: RobotProfile) -> Path:
    return Path(robot).parent if robot.endswith((".yaml", ".yml")) else profile.urdf.parent


def _bare_profile(urdf: Path) -> RobotProfile:
    """Returns a profile of a URDF alone: its joints and position limits, home in the middle, the rest arbitrary."""
    if not urdf.is_file():
        raise ConfigError(f"no URDF at {urdf}")
    model = pin.buildModelFromUrdf(str(urdf))
    followers = {mimic.joint for mimic in mimics(urdf)}
    joints = []
    for name, joint in zip(list(model.names)[1:], list(model.joints)[1:], strict=True):
        if joint.nq != 1:
            raise ConfigError(f"{urdf} joint {name} has no position limits: give it type revolute or prismatic")
        if name not in followers:
            low, high = float(model.lowerPositionLimit[joint.idx_q]), float(model.upperPositionLimit[joint.idx_q])
            home = min(max(0.0, low), high)
            joints.append(Joint(name=name, lower=low, upper=high, velocity=1.0, acceleration=1.0, jerk=1.0, home=home))
    names = tuple(joint.name for joint in joints)
    links = [frame.name for frame in model.frames if frame.type == pin.FrameType.BODY]
    return RobotProfile(
        name=urdf.stem,
        urdf=urdf,
        base_frame=links[0],
        tool_frame=links[-1],
        joints=tuple(joints),
        groups={},
        controllers=(Controller(name="all", type="joint_trajectory", joints=names),),
        cameras=(),
        workspace=Box(lower=(-10.0, -10.0, -10.0), upper=(10.0, 10.0, 10.0)),
    )


def _report(profile: RobotProfile, environment: Environment | None, home: Array) -> bool:
    """Prints the smallest distances at home; returns whether one is below its margin."""
    clearance = Clearance(profile, environment)
    distances = clearance.distances(home)
    table = Table(title=f"{profile.name} at home", title_justify="left")
    for column in ("between", "distance [mm]", "margin [mm]"):
        table.add_column(column, justify="left" if column == "between" else "right")
    order = sorted(range(len(distances)), key=lambda k: float(distances[k] - clearance.margin[k]))
    for k in order[:SHOWN_ROWS]:
        style = "red" if distances[k] < clearance.margin[k] else ""
        table.add_row(clearance.names[k], f"{distances[k] * 1e3:.1f}", f"{clearance.margin[k] * 1e3:.1f}", style=style)
    Console().print(table)
    return bool((distances < clearance.margin).any())

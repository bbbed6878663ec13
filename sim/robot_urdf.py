"""The URDF that simulators load: the profile's own, with shapes and masses on its links and only its joints movable."""

from __future__ import annotations

import functools
import math
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pinocchio as pin

from tendon.core.errors import ConfigError
from tendon.robots.collision.model import load_collisions
from tendon.robots.model import build_model, link_index
from tendon.robots.packages import resolve
from tendon.robots.profile import RobotProfile
from tendon.robots.shapes import Capsule, Cuboid, HalfSpace, Shape, Sphere
from tendon.robots.simulated_parts import Meshes
from tendon.robots.urdf import parse_xml, read_urdf
from tendon.sim.scratch import scratch_folder

LOOKS = ("inertial", "visual", "collision", "contact")
"""What a link has besides its name."""
DENSITY = 1000.0
"""Of a link whose mass nobody tells [kg/m^3]: of its shapes, which are larger than the link and full."""
FRAME_KG = 1e-3
"""Mass of a link without shapes: simulators take 1 kg otherwise."""
DRAWN_BY_ALL = (".stl", ".obj")
"""Files of meshes that every simulator reads."""


@functools.lru_cache(maxsize=32)
def simulated_urdf(profile: RobotProfile, fine: bool = False) -> str:
    """Writes the URDF of a robot and returns its path; the profile's base frame is its origin.

    A link looks and weighs like the link of that name in the profile's meshes, or else in its own URDF; one without a
    shape is what the collision model says, and weighs as much water.

    Args:
        profile: the robot.
        fine: draw what links look like, in place of what they collide with, which has a tenth of the triangles.

    Raises:
        ConfigError: a file is missing, or a joint's mass cannot be found out.
    """
    root = parse_xml(profile.urdf)
    links = {link.get("name", ""): link for link in root.findall("link")}
    _place_meshes(root, profile.urdf)
    for meshes in profile.simulation.meshes:
        _dress(root, links, meshes, profile)
    for gripper in profile.grippers:
        for name, box in gripper.pads.items():
            _remove(links[name], ("collision",))
            size = np.subtract(box.upper, box.lower)
            pad = Cuboid(centre=tuple(np.add(box.lower, size / 2).tolist()), size=tuple(size.tolist()))
            links[name].append(_element("collision", pad))
    if profile.collision_file is not None:
        for name, shapes in load_collisions(profile.collision_file).bodies.items():
            if links[name].find("collision") is None:
                links[name].extend(_element("collision", shape) for shape in shapes)
    for name, link in links.items():
        _draw(link, fine)
        if link.find("inertial") is None:
            _weigh(link)
        _check_mass(profile, name, link)
    _hold_others(root, profile)
    _place_base(root, profile)
    path = scratch_folder() / f"{profile.name}.urdf"
    _tell_apart(root, path.parent)
    ElementTree.ElementTree(root).write(path)
    return str(path)


def missing_meshes(profile: RobotProfile) -> list[str]:
    """Returns the meshes of a profile that are not installed: what would have had them is drawn from shapes."""
    return [each.urdf[0] for each in profile.simulation.meshes if _first(each.urdf, profile.urdf) is None]


def _first(uris: Sequence[str], near: Path) -> Path | None:
    for uri in uris:
        try:
            return resolve(uri, near)
        except ConfigError:
            continue
    return None


def _dress(
    target: ElementTree.Element, links: dict[str, ElementTree.Element], meshes: Meshes, profile: RobotProfile
) -> None:
    """Gives links what a URDF of meshes says of them."""
    path = _first(meshes.urdf, profile.urdf)
    if path is None:
        return
    root = parse_xml(path)
    _place_meshes(root, path)
    dressed = False
    known = {material.get("name") for material in target.findall("material")}
    target.extend(material for material in root.findall("material") if material.get("name") not in known)
    for link in root.findall("link"):
        mine = links.get(meshes.prefix + link.get("name", ""))
        if mine is not None:
            dressed = True
            _remove(mine, LOOKS)
            mine.extend(child for child in link if child.tag in LOOKS)
    if not dressed:
        prefix = f" after {meshes.prefix}" if meshes.prefix else ""
        raise ConfigError(f"profile {profile.name}: meshes {path} has no link of the robot{prefix}: correct its prefix")


def _remove(link: ElementTree.Element, tags: Sequence[str]) -> None:
    for child in [child for child in link if child.tag in tags]:
        link.remove(child)


def _place_meshes(root: ElementTree.Element, near: Path) -> None:
    """Makes the paths of meshes absolute."""
    for mesh in root.iter("mesh"):
        mesh.set("filename", str(resolve(mesh.get("filename", ""), near).resolve()))


def _tell_apart(root: ElementTree.Element, folder: Path) -> None:
    """Links to meshes that share a name by one of their own: MuJoCo knows a mesh by its file's name alone."""
    owners: dict[str, Path] = {}
    for mesh in root.iter("mesh"):
        file = Path(mesh.get("filename", ""))
        name, count = file.stem, 1
        while owners.setdefault(name, file) != file:
            name, count = f"{file.stem}-{count}", count + 1
        if name == file.stem:
            continue
        link = folder / (name + file.suffix)
        if not link.exists():
            link.symlink_to(file)
        mesh.set("filename", str(link))


def _draw(link: ElementTree.Element, fine: bool) -> None:
    """Gives a link what it is drawn with: all of what it looks like if that can be read, or what it collides with."""
    files = [mesh.get("filename", "").lower() for visual in link.findall("visual") for mesh in visual.iter("mesh")]
    drawn = link.find("visual") is not None and all(file.endswith(DRAWN_BY_ALL) for file in files)
    collisions = link.findall("collision")
    if collisions and not (fine and drawn):
        _remove(link, ("visual",))
        for collision in collisions:
            visual = ElementTree.SubElement(link, "visual")
            visual.extend([child for child in collision if child.tag in ("origin", "geometry")])


def _element(tag: str, shape: Shape) -> ElementTree.Element:
    """Returns a shape as a URDF has it."""
    element = ElementTree.Element(tag)
    if isinstance(shape, HalfSpace):
        raise ConfigError("a link is a half space: only an environment may have one")
    if isinstance(shape, Capsule) and shape.a != shape.b:
        along = np.subtract(shape.b, shape.a)
        length = float(np.linalg.norm(along))
        centre = np.add(shape.a, along / 2).tolist()
        rpy = (0.0, math.acos(max(-1.0, min(1.0, along[2] / length))), math.atan2(along[1], along[0]))
        kind, values = "capsule", {"radius": repr(shape.radius), "length": repr(length)}
    elif isinstance(shape, Cuboid):
        centre, rpy = list(shape.centre), shape.rpy
        kind, values = "box", {"size": _text(shape.size)}
    else:
        centre, rpy = list(shape.centre if isinstance(shape, Sphere) else shape.a), (0.0, 0.0, 0.0)
        kind, values = "sphere", {"radius": repr(shape.radius)}
    ElementTree.SubElement(element, "origin", xyz=_text(centre), rpy=_text(rpy))
    ElementTree.SubElement(ElementTree.SubElement(element, "geometry"), kind, values)
    return element


def _text(numbers: Sequence[float]) -> str:
    return " ".join(repr(float(number)) for number in numbers)


def _weigh(link: ElementTree.Element) -> None:
    """Gives a link the mass of its shapes."""
    mass, moment, reach = 0.0, np.zeros(3), 0.05
    for collision in link.findall("collision"):
        origin = collision.find("origin")
        centre = np.array([float(word) for word in ("0 0 0" if origin is None else origin.get("xyz", "0 0 0")).split()])
        volume, size = _volume(collision)
        mass += DENSITY * volume
        moment += DENSITY * volume * centre
        reach = max(reach, size)
    mass, centre = (mass, moment / mass) if mass else (FRAME_KG, np.zeros(3))
    inertial = ElementTree.SubElement(link, "inertial")
    ElementTree.SubElement(inertial, "origin", xyz=_text(centre.tolist()), rpy="0 0 0")
    ElementTree.SubElement(inertial, "mass", value=repr(mass))
    about = repr(mass * reach**2 / 6 if mass > FRAME_KG else FRAME_KG**2)
    ElementTree.SubElement(inertial, "inertia", ixx=about, iyy=about, izz=about, ixy="0", ixz="0", iyz="0")


def _volume(collision: ElementTree.Element) -> tuple[float, float]:
    """Returns the volume [m^3] of a shape and its longest side [m]; a mesh counts as 0.3 litres."""
    for shape in collision.iter():
        radius, length = float(shape.get("radius", 0)), float(shape.get("length", 0))
        if shape.tag == "box":
            sides = [float(word) for word in shape.get("size", "0 0 0").split()]
            return math.prod(sides), max(sides)
        if shape.tag in ("capsule", "cylinder", "sphere"):
            ends = 4 / 3 * math.pi * radius**3 if shape.tag != "cylinder" else 0.0
            return math.pi * radius**2 * length + ends, length + 2 * radius
    return 3e-4, 0.1


def _check_mass(profile: RobotProfile, name: str, link: ElementTree.Element) -> None:
    mass = link.find("inertial/mass")
    text = "" if mass is None else mass.get("value", "")
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value >= 0):
        raise ConfigError(
            f"profile {profile.name}: link {name} has the mass {text!r} kg: correct <inertial> in its URDF"
        )


def _hold_others(root: ElementTree.Element, profile: RobotProfile) -> None:
    """Fixes the joints that the profile does not name and that follow none of them: they stay at zero."""
    urdf = read_urdf(profile.urdf)
    followers = {mimic.joint for mimic in urdf.mimics if mimic.leader in profile.joint_names}
    for joint in root.findall("joint"):
        if joint.get("name") not in (*profile.joint_names, *followers):
            joint.set("type", "fixed")
            _remove(joint, ("mimic", "limit"))


def _place_base(root: ElementTree.Element, profile: RobotProfile) -> None:
    """Puts the profile's base frame at the origin."""
    model = build_model(profile.urdf)
    data = model.createData()
    pin.framesForwardKinematics(model, data, np.zeros(model.nq))
    pose = data.oMf[link_index(model, profile.base_frame)].inverse()
    if pose.isIdentity(1e-12):
        return
    top = read_urdf(profile.urdf).root
    root.insert(0, ElementTree.Element("link", name="scene_origin"))
    joint = ElementTree.SubElement(root, "joint", name="scene_origin_to_robot", type="fixed")
    ElementTree.SubElement(joint, "parent", link="scene_origin")
    ElementTree.SubElement(joint, "child", link=top)
    rpy = pin.rpy.matrixToRpy(pose.rotation)
    ElementTree.SubElement(joint, "origin", xyz=_text(pose.translation.tolist()), rpy=_text(rpy.tolist()))

"""Meshes that are not there, and masses that no body has."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tendon.core.errors import ConfigError
from tendon.core.types import Array
from tendon.robots.collision.model import load_collisions
from tendon.robots.inspection.finding import Finding, Severity, error, warning
from tendon.robots.packages import resolve
from tendon.robots.profile import RobotProfile
from tendon.robots.urdf import parse_xml, read_urdf

SLACK = 0.01
"""Part of the largest moment of inertia by which the other two may fall short of it: digits that are left out."""
MAX_GYRATION_M = 1.0
"""A link whose mass is further from its middle than this is longer than an arm, or has inertias in other units."""


def inspect_bodies(profile: RobotProfile) -> Iterator[Finding]:
    """Yields what is wrong with the meshes and masses of links.

    Raises:
        ConfigError: the URDF is wrong.
    """
    root = parse_xml(profile.urdf)
    for uri in sorted({mesh.get("filename", "") for mesh in root.iter("mesh")}):
        try:
            resolve(uri, profile.urdf)
        except ConfigError as problem:
            yield error("URDF", str(problem), "until then nothing can be simulated or drawn")
    surfaces = {link.get("name", ""): link for link in root.findall("link")}
    inertials = {name: link.find("inertial") for name, link in surfaces.items()}
    for meshes in profile.simulation.meshes:
        files = [file for file in (_file(uri, profile.urdf) for uri in meshes.urdf) if file is not None]
        if not files:
            yield warning(
                "simulation",
                f"none of its meshes is installed: {', '.join(meshes.urdf)}",
                "install one; until then links are drawn as the shapes of the collision model",
            )
            continue
        for link in parse_xml(files[0]).findall("link"):
            name = meshes.prefix + link.get("name", "")
            if name in surfaces:
                surfaces[name], inertials[name] = link, link.find("inertial")
    yield from _masses(profile, surfaces, inertials)


def impossible_mass(urdf: Path) -> Finding | None:
    """Returns the first link of a URDF whose mass or inertia no body has; `None` where there is none.

    Raises:
        ConfigError: the URDF is wrong.
    """
    inertials = ((link.get("name", ""), link.find("inertial")) for link in parse_xml(urdf).findall("link"))
    found = (each for name, inertial in inertials if inertial is not None for each in _unphysical(name, inertial))
    return next((each for each in found if each.severity is Severity.ERROR), None)


def _file(uri: str, near: Path) -> Path | None:
    try:
        return resolve(uri, near)
    except ConfigError:
        return None


def _masses(
    profile: RobotProfile,
    links: dict[str, ElementTree.Element],
    inertials: dict[str, ElementTree.Element | None],
) -> Iterator[Finding]:
    urdf, bare = read_urdf(profile.urdf), []
    modelled = load_collisions(profile.collision_file).bodies if profile.collision_file is not None else {}
    for name, inertial in inertials.items():
        if inertial is not None:
            yield from _unphysical(name, inertial)
        is_bare = inertial is None or _number(inertial.find("mass"), "value") == 0
        if is_bare and urdf.moved_by(name) and (name in modelled or links[name].find("collision") is not None):
            bare.append(name)
    if bare:
        yield warning(
            "URDF",
            f"{len(bare)} moving links have a shape and no mass: {', '.join(bare)}",
            "write their <inertial>; until then a simulator takes them for water",
        )


def _unphysical(name: str, inertial: ElementTree.Element) -> Iterator[Finding]:
    where, advice = f"link {name}", "correct its <inertial> in the URDF; a simulator would refuse it or fly apart"
    mass = _number(inertial.find("mass"), "value")
    if not mass >= 0 or math.isinf(mass):
        yield error(where, f"its mass is {mass:g} kg", advice)
        return
    element = inertial.find("inertia")
    if element is None or mass == 0:
        if mass > 0:
            yield warning(where, f"it has {mass:g} kg and no <inertia>", advice)
        return
    moments = _moments(element)
    if moments is None:
        yield error(where, "its moments of inertia are no finite numbers", advice)
        return
    text = ", ".join(f"{moment:.3g}" for moment in moments)
    if moments[0] < -SLACK * moments[2] or (moments[2] <= 0 < mass and moments.any()):
        yield error(where, f"its principal moments of inertia are {text} kg m^2: none can be negative", advice)
    elif moments[0] + moments[1] < (1 - SLACK) * moments[2]:
        yield warning(where, f"its principal moments of inertia are {text} kg m^2: the largest exceeds the sum", advice)
    elif moments[2] > mass * MAX_GYRATION_M**2:
        yield warning(
            where, f"its moments of inertia, {text} kg m^2, are too large for {mass:g} kg", f"{advice}; mm^2?"
        )


def _moments(element: ElementTree.Element) -> Array | None:
    """Returns the (3,) principal moments of inertia [kg m^2], the smallest first; `None` if they are no numbers."""
    xx, yy, zz, xy, xz, yz = (_number(element, key) for key in ("ixx", "iyy", "izz", "ixy", "ixz", "iyz"))
    tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return np.asarray(np.linalg.eigvalsh(tensor)) if np.isfinite(tensor).all() else None


def _number(element: ElementTree.Element | None, key: str) -> float:
    try:
        return math.nan if element is None else float(element.get(key, "nan"))
    except ValueError:
        return math.nan

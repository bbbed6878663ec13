"""What a URDF says of links and joints, read without pinocchio: enough to check a profile against it."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tendon.core.errors import ConfigError

DRIVEN = ("revolute", "continuous", "prismatic")
"""Types of joints with one position; the others are `fixed`, which has none, and those with more."""


@dataclass(frozen=True, kw_only=True)
class Mimic:
    """A joint that follows another: its position is `multiplier` times the leader's plus `offset`."""

    joint: str
    leader: str
    multiplier: float
    offset: float


@dataclass(frozen=True, kw_only=True)
class Limit:
    """What a joint can do, as its maker says; infinite where a URDF says nothing, as of a continuous joint's position.

    Attributes:
        lower: smallest position, rad or m.
        upper: largest position.
        velocity: largest speed, rad/s or m/s; 0 in many URDFs whose author did not know it.
        effort: largest, N m or N; likewise.
    """

    lower: float = -math.inf
    upper: float = math.inf
    velocity: float = math.inf
    effort: float = math.inf


@dataclass(frozen=True, kw_only=True)
class UrdfJoint:
    """A joint: its type, the links it connects, and its limits; a fixed one has no limits."""

    name: str
    kind: str
    parent: str
    child: str
    limit: Limit = Limit()


@dataclass(frozen=True, kw_only=True)
class Urdf:
    """Links and joints of a URDF.

    Attributes:
        path: the file.
        links: their names.
        joints: by name.
        mimics: the joints that follow another; a leader follows nobody.
    """

    path: Path
    links: tuple[str, ...]
    joints: Mapping[str, UrdfJoint]
    mimics: tuple[Mimic, ...]

    @property
    def root(self) -> str:
        """The link that is no joint's child."""
        children = {joint.child for joint in self.joints.values()}
        return next(link for link in self.links if link not in children)

    def _top(self, link: str) -> str:
        above = self.above(link)
        return self.joints[above[-1]].parent if above else link

    @property
    def commanded(self) -> list[str]:
        """The joints that somebody has to drive, from the root on, branch by branch."""
        followers = {mimic.joint for mimic in self.mimics}
        below: dict[str, list[UrdfJoint]] = {}
        for joint in self.joints.values():
            below.setdefault(joint.parent, []).append(joint)
        names, waiting = list[str](), [self.root]
        while waiting:
            joints = below.get(waiting.pop(), [])
            waiting += [joint.child for joint in reversed(joints)]
            names += [joint.name for joint in joints if joint.kind in DRIVEN and joint.name not in followers]
        return names

    def moved_by(self, link: str) -> list[str]:
        """Returns the joints that move a link, from the root to it: neither fixed ones nor those that follow others."""
        followers = {mimic.joint: mimic.leader for mimic in self.mimics}
        driven = [name for name in reversed(self.above(link)) if self.joints[name].kind in DRIVEN]
        return list(dict.fromkeys(followers.get(name, name) for name in driven))

    def above(self, link: str) -> list[str]:
        """Returns the joints from a link up to the root, fixed ones too."""
        parents = {joint.child: joint for joint in self.joints.values()}
        names: list[str] = []
        while link in parents and len(names) < len(parents):
            names.append(parents[link].name)
            link = parents[link].parent
        return names


def read_urdf(path: Path) -> Urdf:
    """Reads a URDF.

    Raises:
        ConfigError: it does not exist, is no URDF, or has a joint that Tendon cannot place.
    """
    root = parse_xml(path)
    joints = {}
    mimics = {}
    for element in root.findall("joint"):
        joint = _joint(path, element)
        if joint.name in joints:
            raise ConfigError(f"URDF {path} has two joints called {joint.name}")
        joints[joint.name] = joint
        mimic = element.find("mimic")
        if mimic is not None and joint.kind != "fixed":
            mimics[joint.name] = Mimic(
                joint=joint.name,
                leader=mimic.get("joint", ""),
                multiplier=_number(path, joint.name, mimic, "multiplier", 1.0),
                offset=_number(path, joint.name, mimic, "offset", 0.0),
            )
    for element in root.findall("link"):
        _check_sizes(path, element)
    links = tuple(element.get("name", "") for element in root.findall("link"))
    for joint in joints.values():
        for link in (joint.parent, joint.child):
            if link not in links:
                raise ConfigError(f"URDF {path}: joint {joint.name} names link {link!r}, which it does not have")
    urdf = Urdf(
        path=path,
        links=links,
        joints=joints,
        mimics=tuple(_resolve(path, joints, mimics, name) for name in mimics),
    )
    children = [joint.child for joint in joints.values()]
    roots = [link for link in links if link not in children]
    if len(roots) != 1 or len(set(children)) != len(children) or any(urdf._top(link) != roots[0] for link in links):
        raise ConfigError(f"URDF {path} is no tree: every link must have one way up to one root, it has {roots}")
    return urdf


def parse_xml(path: Path, kind: Literal["URDF", "SRDF"] = "URDF") -> ElementTree.Element:
    """Returns the root element of a URDF file, or of an SRDF.

    Raises:
        ConfigError: it does not exist, or is none.
    """
    try:
        text = path.read_bytes()
    except FileNotFoundError as error:
        raise ConfigError(f"no {kind} at {path}") from error
    except OSError as error:
        raise ConfigError(f"{kind} {path} cannot be read: {error.strerror}") from error
    if b"<xacro:" in re.sub(b"<!--.*?-->", b"", text, flags=re.DOTALL):  # what xacro wrote may quote it
        raise ConfigError(f"{path} is xacro: expand it first (`xacro {path.name} > robot.{kind.lower()}`)")
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise ConfigError(f"{kind} {path} is not XML: {error}") from error
    except (LookupError, ValueError) as error:
        raise ConfigError(f"{kind} {path} is in no encoding that is known here: {error}") from error
    if root.tag != "robot":
        raise ConfigError(f"{path} is no {kind}: its outermost element is <{root.tag}>, not <robot>")
    return root


def _joint(path: Path, element: ElementTree.Element) -> UrdfJoint:
    name, kind = element.get("name", ""), element.get("type", "")
    if kind not in (*DRIVEN, "fixed"):
        raise ConfigError(
            f"URDF {path}: joint {name} is of type {kind or 'none'}; known: fixed, {', '.join(DRIVEN)}. "
            "Fix a floating base, or take the arm's own URDF"
        )
    ends = [element.find(end) for end in ("parent", "child")]
    parent, child = ("" if end is None else end.get("link", "") for end in ends)
    axis = element.find("axis")
    text = "1 0 0" if axis is None else axis.get("xyz", "")
    if kind in DRIVEN and not _is_direction(text):
        raise ConfigError(f"URDF {path}: axis of joint {name} is {text!r}, must be three finite numbers, not all 0")
    return UrdfJoint(name=name, kind=kind, parent=parent, child=child, limit=_limit(path, name, kind, element))


def _limit(path: Path, name: str, kind: str, joint: ElementTree.Element) -> Limit:
    """Returns a joint's limits: those that pinocchio asks for must be there, as its own message does not say which."""
    element = joint.find("limit")
    if kind == "fixed" or (kind == "continuous" and element is None):
        return Limit()
    if element is None:
        raise ConfigError(
            f"URDF {path}: joint {name} has no <limit>: write its lower, upper, velocity and effort from the data "
            'sheet, or make it type="continuous"'
        )
    for key in ("velocity", "effort"):
        if element.get(key) is None:
            raise ConfigError(f"URDF {path}: <limit> of joint {name} has no {key}: write it from the data sheet")
    values = {key: _number(path, name, element, key, 0.0) for key in ("lower", "upper", "velocity", "effort")}
    for key in ("velocity", "effort"):
        if values[key] < 0:
            raise ConfigError(
                f"URDF {path}: limit {key} of joint {name} is {values[key]:g}, must be at least 0: write its size"
            )
    if kind == "continuous":
        values |= {"lower": -math.inf, "upper": math.inf}
    if values["lower"] > values["upper"]:
        raise ConfigError(
            f"URDF {path}: limit lower of joint {name} is {values['lower']:g}, above its upper, {values['upper']:g}: "
            "swap them"
        )
    return Limit(**values)


def _check_sizes(path: Path, link: ElementTree.Element) -> None:
    """Wants no collision shape of less than no size; a mesh has its own."""
    for shape in link.iterfind("collision/geometry/*"):
        for key in ("radius", "length", "size"):
            if not all(value >= 0 for value in _numbers(shape.get(key, ""))):
                raise ConfigError(
                    f"URDF {path}: {key} of a collision {shape.tag} of link {link.get('name')} is "
                    f"{shape.get(key)!r}, must be at least 0 m"
                )


def _numbers(text: str) -> list[float]:
    """Returns the numbers of a text; one that is none is not finite."""
    try:
        return [float(word) for word in text.split()]
    except ValueError:
        return [math.nan]


def _is_direction(text: str) -> bool:
    numbers = _numbers(text)
    return len(numbers) == 3 and all(map(math.isfinite, numbers)) and math.hypot(*numbers) > 0


def _number(path: Path, joint: str, element: ElementTree.Element, key: str, default: float) -> float:
    text = element.get(key)
    try:
        value = default if text is None else float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ConfigError(f"URDF {path}: {element.tag} {key} of joint {joint} is {text!r}, must be a finite number")
    return value


def _resolve(path: Path, joints: Mapping[str, UrdfJoint], mimics: Mapping[str, Mimic], name: str) -> Mimic:
    """Returns a mimic with the leader of its leader, and so on."""
    multiplier, offset, leader, seen = 1.0, 0.0, name, {name}
    while leader in mimics:
        mimic = mimics[leader]
        multiplier, offset, leader = multiplier * mimic.multiplier, multiplier * mimic.offset + offset, mimic.leader
        if leader not in joints or leader in seen:
            why = "it does not have" if leader not in joints else "follows it in turn"
            raise ConfigError(f"URDF {path}: joint {mimic.joint} mimics joint {leader!r}, which {why}")
        seen.add(leader)
    return Mimic(joint=name, leader=leader, multiplier=multiplier, offset=offset)

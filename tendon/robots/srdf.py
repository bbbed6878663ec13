"""What an SRDF adds to a URDF: groups of joints, named postures, end effectors, pairs that need no collision check."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tendon.core.checks import closest
from tendon.core.errors import ConfigError
from tendon.robots.urdf import Urdf, parse_xml

REASONS = {"Adjacent": "adjacent", "Never": "never"}
"""What a collision model calls the reasons of an SRDF; "always" is every other: Default, or what a person wrote."""


@dataclass(frozen=True, kw_only=True)
class EndEffector:
    """A gripper or tool: the link that carries it, its group, and the group of the arm where the SRDF names one."""

    parent_link: str
    group: str
    parent_group: str


@dataclass(frozen=True, kw_only=True)
class Srdf:
    """What an SRDF says of a robot, in the words of its URDF.

    Attributes:
        path: the file.
        groups: name -> joints from the root on; none that is fixed, follows another, or is passive.
        tips: name -> the last link of a group that is given as a chain.
        states: name -> joint -> position, rad or m.
        end_effectors: in the order of the file.
        disabled: pairs of links that need no check, with the reason as a collision model has it.
        passive: joints that nothing drives.
    """

    path: Path
    groups: Mapping[str, tuple[str, ...]]
    tips: Mapping[str, str]
    states: Mapping[str, Mapping[str, float]]
    end_effectors: tuple[EndEffector, ...]
    disabled: Mapping[frozenset[str], str] = field(default_factory=dict)
    passive: frozenset[str] = frozenset()


def read_srdf(path: Path, urdf: Urdf) -> Srdf:
    """Reads the SRDF of a URDF.

    Raises:
        ConfigError: it does not exist, is no SRDF, or names what the URDF does not have, as that of another robot does.
    """
    root = parse_xml(path, "SRDF")
    if root.find("link") is not None:
        raise ConfigError(f"{path} is a URDF, as it has links: an SRDF has groups and states")
    reader = _Reader(path, urdf, root)
    return Srdf(
        path=path,
        groups={name: reader.group(name) for name in reader.groups},
        tips={name: chain.get("tip_link", "") for name, chain in reader.chains()},
        states=dict(reader.states()),
        end_effectors=tuple(reader.end_effectors()),
        disabled=dict(reader.pairs()),
        passive=frozenset(reader.passive),
    )


class _Reader:
    def __init__(self, path: Path, urdf: Urdf, root: ElementTree.Element) -> None:
        self._path, self._urdf, self._root = path, urdf, root
        self._free = {joint.get("name", "") for joint in root.findall("virtual_joint")}
        self.passive = [self._joint("passive_joint", each) for each in root.findall("passive_joint")]
        self.groups = {group.get("name", ""): group for group in root.findall("group")}

    def group(self, name: str, seen: tuple[str, ...] = ()) -> tuple[str, ...]:
        """Returns the joints of a group, those of its groups too."""
        if name not in self.groups or name in seen:
            known = ", ".join(self.groups) or "none"
            why = "contains itself" if name in seen else f"is not in it (groups: {known})"
            raise ConfigError(f"SRDF {self._path}: group {name!r} {why}")
        members: set[str] = set()
        for child in self.groups[name]:
            if child.tag == "group":
                members.update(self.group(child.get("name", ""), (*seen, name)))
            elif child.tag == "joint" and child.get("name", "") not in self._free:
                members.add(self._joint(f"group {name}", child))
            elif child.tag == "link":
                members.update(self._urdf.above(self._link(f"group {name}", child, "name"))[:1])
            elif child.tag == "chain":
                ends = [self._link(f"chain of group {name}", child, key) for key in ("base_link", "tip_link")]
                base, tip = (self._urdf.above(end) for end in ends)
                members.update(set(tip) - set(base))
        return tuple(joint for joint in self._urdf.commanded if joint in members and joint not in self.passive)

    def chains(self) -> Iterator[tuple[str, ElementTree.Element]]:
        """Yields the groups that are one chain."""
        for name, group in self.groups.items():
            chains = group.findall("chain")
            if len(chains) == 1:
                yield name, chains[0]

    def states(self) -> Iterator[tuple[str, dict[str, float]]]:
        """Yields named postures; where one name stands for several groups, they are one posture."""
        together: dict[str, dict[str, float]] = {}
        for state in self._root.findall("group_state"):
            name = state.get("name", "")
            values = together.setdefault(name, {})
            for joint in state.findall("joint"):
                words = joint.get("value", "").split()
                if joint.get("name", "") in self._free or len(words) > 1:  # where a floating base is
                    continue
                values[self._joint(f"state {name}", joint)] = self._number(name, joint)
        yield from together.items()

    def end_effectors(self) -> Iterator[EndEffector]:
        """Yields them."""
        for each in self._root.findall("end_effector"):
            where = f"end_effector {each.get('name', '')}"
            names = {key: each.get(key, "") for key in ("group", "parent_group")}
            for key, name in names.items():
                if name and name not in self.groups:
                    raise ConfigError(
                        f"SRDF {self._path}: {key} of {where} is {name}{closest(name, tuple(self.groups))}"
                    )
            yield EndEffector(parent_link=self._link(where, each, "parent_link"), **names)

    def pairs(self) -> Iterator[tuple[frozenset[str], str]]:
        """Yields the pairs that need no check."""
        for each in self._root.findall("disable_collisions"):
            pair = frozenset(self._link("disable_collisions", each, key) for key in ("link1", "link2"))
            if len(pair) == 2:
                yield pair, REASONS.get(each.get("reason", ""), "always")

    def _joint(self, where: str, element: ElementTree.Element) -> str:
        return self._known(where, "joint", element.get("name", ""), tuple(self._urdf.joints))

    def _link(self, where: str, element: ElementTree.Element, key: str) -> str:
        return self._known(where, "link", element.get(key, ""), self._urdf.links)

    def _known(self, where: str, what: str, name: str, known: tuple[str, ...]) -> str:
        if name not in known:
            raise ConfigError(
                f"SRDF {self._path}: {where} names {what} {name!r}, which URDF {self._urdf.path} does not have"
                f"{closest(name, known)} (is it the SRDF of another robot?)"
            )
        return name

    def _number(self, state: str, joint: ElementTree.Element) -> float:
        text = joint.get("value", "")
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise ConfigError(
                f"SRDF {self._path}: state {state} puts joint {joint.get('name')} at {text!r}, must be a finite number"
            )
        return value

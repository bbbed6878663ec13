"""What pinocchio does not tell of a URDF."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Mimic:
    """A joint that follows another: its position is `multiplier` times the leader's plus `offset`."""

    joint: str
    leader: str
    multiplier: float
    offset: float


def mimics(urdf: Path) -> list[Mimic]:
    """Returns the joints of a URDF that mimic another."""
    found = []
    for joint in ElementTree.parse(urdf).getroot().iter("joint"):
        mimic = joint.find("mimic")
        if mimic is not None:
            found.append(
                Mimic(
                    joint=str(joint.get("name")),
                    leader=str(mimic.get("joint")),
                    multiplier=float(mimic.get("multiplier", 1.0)),
                    offset=float(mimic.get("offset", 0.0)),
                )
            )
    return found

"""The ROS namespace of a graph: it tells apart several graphs in one ROS domain, such as two arms of one cell."""

from __future__ import annotations

import os
import re

from tendon.core.errors import ConfigError
from tendon.graph import topics

NAMESPACE_VARIABLE = "ROS_NAMESPACE"
CLOCK_REMAPPING = (topics.CLOCK, "clock")
"""Simulated time belongs to one graph, but ROS gives its topic no namespace."""

_FORM = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(/[A-Za-z_][A-Za-z0-9_]*)*")


def parse_namespace(text: str) -> str:
    """Returns a namespace without the slash in front; empty for none.

    Raises:
        ConfigError: ROS allows no such namespace.
    """
    name = text.removeprefix("/")
    if name and ("__" in name or not _FORM.fullmatch(name)):
        raise ConfigError(
            f"namespace is {text!r}, must be of letters, digits and _, no digit first, such as left or left/arm"
        )
    return name


def own_namespace() -> str:
    """Returns the namespace of this process, as `parse_namespace` does.

    Raises:
        ConfigError: `ROS_NAMESPACE` is none.
    """
    return parse_namespace(os.environ.get(NAMESPACE_VARIABLE, ""))


def place_name(robot: str, domain: int, namespace: str) -> str:
    """Returns what files of one graph are called: two graphs that run beside each other have different ones.

    Args:
        robot: name of its profile.
        domain: ROS domain.
        namespace: as ROS gives it, with or without the slash in front.
    """
    return ".".join((f"{robot}-{domain}", *filter(None, namespace.split("/"))))

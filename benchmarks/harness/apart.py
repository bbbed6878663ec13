"""A running graph of a benchmark that no other on this machine or network meets."""

from __future__ import annotations

import os
import tempfile

from tendon.graph.domain import free_domain


def keep_apart() -> None:
    """Gives the graphs that this process starts this machine alone, and a domain and a state folder of their own.

    A domain or a folder that the environment names already stays.
    """
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    os.environ["ROS_DOMAIN_ID"] = os.environ.get("ROS_DOMAIN_ID") or str(free_domain())
    os.environ.setdefault("TENDON_STATE", tempfile.mkdtemp(prefix="tendon-state-"))

"""Which ROS domains are in use on this machine, seen from the UDP ports their participants hold."""

from __future__ import annotations

import os
import socket

from tendon.core.errors import ConfigError

PORT_BASE, PORTS_A_DOMAIN, UNICAST_OFFSET, PORTS_A_PARTICIPANT = 7400, 250, 10, 2
HIGHEST_DOMAIN = 101
"""Up to here every port is below Linux's ephemeral range."""


def domain_id() -> int:
    """Returns the ROS domain of this process.

    Raises:
        ConfigError: `ROS_DOMAIN_ID` is not a number from 0 to 232.
    """
    text = os.environ.get("ROS_DOMAIN_ID") or "0"
    if not text.isdigit() or int(text) > 232:
        raise ConfigError(f"ROS_DOMAIN_ID is {text!r}, must be a whole number from 0 to 232")
    return int(text)


def in_use(domain: int) -> bool:
    """Returns whether a DDS participant of this machine is in a domain.

    By the ports of the RTPS standard (DDSI-RTPS 9.6.2.3): participant k of a domain holds
    7400 + 250 * domain + 10 + 2 * k, and k counts up from 0; a few are tried, as an early one may have left.
    """
    first = PORT_BASE + PORTS_A_DOMAIN * domain + UNICAST_OFFSET
    return any(_is_bound(first + PORTS_A_PARTICIPANT * k) for k in range(8))


def free_domain() -> int:
    """Returns a ROS domain nobody on this machine is in.

    Raises:
        ConfigError: there is none.
    """
    for domain in range(1, HIGHEST_DOMAIN + 1):
        if not in_use(domain):
            return domain
    raise ConfigError(f"every ROS domain from 1 to {HIGHEST_DOMAIN} is in use on this machine")


def _is_bound(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind(("", port))
        except OSError:
            return True
    return False

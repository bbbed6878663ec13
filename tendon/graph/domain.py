"""Which ROS domains are in use on this machine, seen from the UDP ports their participants hold."""

from __future__ import annotations

import contextlib
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
    if not (text.isascii() and text.isdigit()) or int(text) > 232:
        raise ConfigError(f"ROS_DOMAIN_ID is {text!r}, must be a whole number from 0 to 232")
    return int(text)


def in_use(domain: int) -> bool:
    """Returns whether a DDS participant of this machine is in a domain.

    By the ports of the RTPS standard (DDSI-RTPS 9.6.2.3): participant k of a domain holds
    7400 + 250 * domain + 10 + 2 * k, and k counts up from 0; a few are tried, as an early one may have left.
    """
    first = PORT_BASE + PORTS_A_DOMAIN * domain + UNICAST_OFFSET
    return any(_is_bound(first + PORTS_A_PARTICIPANT * k) for k in range(8))


def domains_in_use() -> tuple[int, ...]:
    """Returns the domains in which this machine has participants, up to the highest that Linux leaves free."""
    return tuple(domain for domain in range(HIGHEST_DOMAIN + 1) if in_use(domain))


def no_graph(domain: int) -> str:
    """Returns the message for whoever looked for a graph in a domain where there is none."""
    start = f"no graph in domain {domain}: start one with `tendon run`"
    others = [str(other) for other in domains_in_use() if other != domain]
    if not others:
        return f"{start}; this machine is in no other domain up to {HIGHEST_DOMAIN}"
    return f"{start}, or choose another: this machine is in {', '.join(others)} (ROS_DOMAIN_ID={others[0]})"


def free_domain() -> int:
    """Returns a ROS domain nobody on this machine is in.

    Raises:
        ConfigError: there is none.
    """
    for domain in range(1, HIGHEST_DOMAIN + 1):
        if not in_use(domain):
            return domain
    raise ConfigError(f"every ROS domain from 1 to {HIGHEST_DOMAIN} is in use on this machine")


def claim_domain() -> tuple[int, socket.socket]:
    """Returns a ROS domain nobody on this machine is in or has claimed, and the claim: it ends when closed, or with us.

    The claim is an abstract Unix socket, so that two processes that look at once do not find the same domain.

    Raises:
        ConfigError: there is none.
    """
    for domain in range(1, HIGHEST_DOMAIN + 1):
        claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        with contextlib.suppress(OSError):  # somebody else's
            claim.bind(f"\0tendon-domain-{domain}")
            if not in_use(domain):
                return domain, claim
        claim.close()
    raise ConfigError(f"every ROS domain from 1 to {HIGHEST_DOMAIN} is in use on this machine")


def _is_bound(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind(("", port))
        except OSError:
            return True
    return False

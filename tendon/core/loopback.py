"""Whether processes of this machine can reach one another over its network."""

from __future__ import annotations

import errno
import socket

ADDRESS = "127.0.0.1"
DOWN = (errno.ENETUNREACH, errno.EADDRNOTAVAIL)


def loopback_problem() -> str:
    """Returns why they cannot, and what helps; empty when they can."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as itself:
            itself.bind((ADDRESS, 0))
            itself.sendto(b"", itself.getsockname())
    except OSError as error:
        return f"{error.strerror}: ip link set lo up" if error.errno in DOWN else str(error.strerror)
    return ""

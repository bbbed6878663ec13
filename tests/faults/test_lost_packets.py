"""The means of the fault "one packet in ten lost": that it loses that many, and stops when it is told to."""

from __future__ import annotations

import contextlib
import os
import socket

from tests.faults.lost_packets import lose

PACKETS = 2000


def arrive(receiver: socket.socket) -> int:
    """Returns how many of `PACKETS` that are sent to a socket arrive; on this machine each does so at once."""
    count = 0
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for _ in range(PACKETS):
            sender.sendto(b"x", receiver.getsockname())
            with contextlib.suppress(BlockingIOError):
                receiver.recv(1)
                count += 1
    return count


def test_a_share_of_the_packets_is_lost_until_none_is() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.bind(("127.0.0.1", 0))
        receiver.setblocking(False)
        lose([os.getpid()], 0.3)
        some = arrive(receiver)
        lose([os.getpid()], 0.0)
        everything = arrive(receiver)
    assert everything == PACKETS
    assert 0.6 * PACKETS < some < 0.8 * PACKETS

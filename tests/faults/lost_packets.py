"""A network that loses packets: a filter of the kernel on the sockets of a process drops a share of what comes."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import socket
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path

PIDFD_GETFD = 438
"""Number of the system call, which Python has no name for."""
SO_ATTACH_FILTER, SO_DETACH_FILTER = 26, 27
LOAD, GREATER, RETURN, RANDOM = 0x20, 0x25, 0x06, 0xFFFFF000 + 56
"""Instructions of the classic Berkeley packet filter, and where Linux has a random number for it."""
ALL = 0xFFFFFFFF
_INSTRUCTION = struct.Struct("HBBI")
_LIBC = ctypes.CDLL(None, use_errno=True)


def lose(pids: Iterable[int], share: float) -> None:
    """Drops a share of the UDP packets that reach some processes; only sockets that they have now are concerned.

    Args:
        pids: of this user, and of children where the kernel asks for that.
        share: 0 drops none from here on.
    """
    drop_all_up_to = round(share * ALL)
    program = ((LOAD, 0, 0, RANDOM), (GREATER, 1, 0, drop_all_up_to), (RETURN, 0, 0, 0), (RETURN, 0, 0, ALL))
    code = ctypes.create_string_buffer(b"".join(_INSTRUCTION.pack(*each) for each in program))
    for pid in pids:
        for each in _udp_sockets(pid):
            with contextlib.closing(each):
                if share:
                    given = struct.pack("HL", len(program), ctypes.addressof(code))
                    each.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, given)
                else:
                    with contextlib.suppress(FileNotFoundError):  # it had no filter
                        each.setsockopt(socket.SOL_SOCKET, SO_DETACH_FILTER, bytes(4))


def reaches_others() -> bool:
    """Returns whether the kernel gives out sockets of another process: in a container it takes CAP_SYS_PTRACE."""
    process = os.pidfd_open(os.getpid())
    try:
        os.close(_copy(process, process))
    except OSError:
        return False
    finally:
        os.close(process)
    return True


def _udp_sockets(pid: int) -> Iterator[socket.socket]:
    process = os.pidfd_open(pid)
    try:
        for place in sorted(Path(f"/proc/{pid}/fd").iterdir()):
            with contextlib.suppress(FileNotFoundError):  # closed meanwhile
                if not str(place.readlink()).startswith("socket:"):
                    continue
                number = int(place.name)
                try:
                    copied = os.dup(number) if pid == os.getpid() else _copy(process, number)
                except OSError as error:
                    if error.errno == errno.EBADF:  # closed since it was listed
                        continue
                    raise
                found = socket.socket(fileno=copied)
                if (found.family, found.type) == (socket.AF_INET, socket.SOCK_DGRAM):
                    yield found
                else:
                    found.close()
    finally:
        os.close(process)


def _copy(process: int, number: int) -> int:
    """Returns a file of another process, by its number there.

    Raises:
        OSError: the kernel does not allow it.
    """
    copy: int = _LIBC.syscall(PIDFD_GETFD, process, number, 0)
    if copy < 0:
        raise OSError(ctypes.get_errno(), "pidfd_getfd")
    return copy

"""The version of what Tendon's nodes say in forms of their own."""

from __future__ import annotations

from tendon.core.errors import InvalidDataError

VERSION = 1
"""Of all such formats. It grows when a reader would misread a message, not when a key is new."""


def check_version(where: str, given: str) -> None:
    """Checks what a message gives as its version.

    Raises:
        InvalidDataError: it is another one.
    """
    if given != str(VERSION):
        raise InvalidDataError(
            f"{where}: version is {given[:40]!r}, expected {VERSION}: install the same Tendon everywhere"
        )

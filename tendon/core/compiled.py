"""Modules that are compiled: Cython makes C of a `.pyx` file when Tendon is installed (ADR 42)."""

from __future__ import annotations

import hashlib
from pathlib import Path


def check_source(module_file: str, digest: bytes) -> None:
    """Raises unless a compiled module was made of the source beside it: a changed file does nothing until compiled.

    Args:
        module_file: the compiled module's file, such as `.../stop.cpython-311-x86_64-linux-gnu.so`.
        digest: SHA-256 of its source, in hexadecimal, when it was compiled.

    Raises:
        ImportError: the source is another by now, or is not there.
    """
    compiled = Path(module_file)
    source = compiled.with_name(compiled.name.partition(".")[0] + ".pyx")
    try:
        same = hashlib.sha256(source.read_bytes()).hexdigest() == digest.decode()
    except OSError as error:
        raise ImportError(f"{compiled} was compiled from {source}, which cannot be read: {error.strerror}") from error
    if not same:
        raise ImportError(
            f"{source} has changed since it was compiled: `make compile` in a checkout, or install Tendon again"
        )

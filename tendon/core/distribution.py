"""The name that pip knows Tendon by: `tendon` itself is another project on the package index."""

from __future__ import annotations

DISTRIBUTION = "tendon-vla"


def pip_install(extra: str = "") -> str:
    """Returns the command that brings Tendon with one of its extras, to be copied into a shell."""
    return f'pip install "{DISTRIBUTION}[{extra}]"' if extra else f"pip install {DISTRIBUTION}"

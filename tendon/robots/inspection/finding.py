"""What an inspection of a profile finds: how bad it is, what it is, how to mend it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class Severity(IntEnum):
    """How bad a finding is, the worst first: errors are mended before motion, notes only said."""

    ERROR = 0
    WARNING = 1
    NOTE = 2


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One of them.

    Attributes:
        severity: how bad it is.
        where: what it is about, such as a joint.
        text: what is wrong.
        advice: how to mend it.
    """

    severity: Severity
    where: str
    text: str
    advice: str


def error(where: str, text: str, advice: str) -> Finding:
    """Returns what has to be mended before motion."""
    return Finding(severity=Severity.ERROR, where=where, text=text, advice=advice)


def warning(where: str, text: str, advice: str) -> Finding:
    """Returns what is most likely wrong, or wrong in simulation only."""
    return Finding(severity=Severity.WARNING, where=where, text=text, advice=advice)


def note(where: str, text: str, advice: str) -> Finding:
    """Returns what a person should know."""
    return Finding(severity=Severity.NOTE, where=where, text=text, advice=advice)

"""How far a profile may move a safety threshold: as tight as still works, as loose as is stated, and no further."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tendon.core.checks import check_number
from tendon.core.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """The range of one threshold, both ends included. Which end is the smaller number differs from one to the next.

    Attributes:
        unit: of the value, such as "s".
        tightest: beyond it the robot would stop for nothing.
        loosest: beyond it the threshold would not protect; where it equals the default, a profile may only tighten.
    """

    unit: str
    tightest: float
    loosest: float

    def holds(self, value: float) -> bool:
        """Returns whether a value is in the range."""
        return min(self.tightest, self.loosest) <= value <= max(self.tightest, self.loosest)

    @property
    def json_schema(self) -> dict[str, float]:
        """The range for an editor."""
        least, most = sorted((self.tightest, self.loosest))
        return {"minimum": least, "maximum": most}

    def check(self, name: str, value: object, default: float) -> None:
        """Wants a number in the range, a whole one where the default is whole.

        Raises:
            ConfigError: it is none; the error names value, range and what to write.
        """
        named = f"{name} [{self.unit}]"
        check_number(named, value)
        assert isinstance(value, int | float)  # as check_number has found
        least, most = sorted((self.tightest, self.loosest))
        if isinstance(default, int) and not isinstance(value, int):
            raise ConfigError(f"{named} is {value!r}, must be a whole number from {least} to {most}")
        if self.holds(value):
            return
        too_loose = (value > most) == (self.loosest == most)
        if not too_loose:
            why = "tighter than this the robot would stop for nothing"
        elif self.loosest == default:
            why = "a profile may tighten it and not loosen it"
        else:
            why = f"a profile may loosen it from {default:g} to {self.loosest:g} and no further"
        fix = most if value > most else least
        raise ConfigError(
            f"{named} is {value!r}, must be at least {least:g} and at most {most:g}: {why}; write {fix:g}"
        )


def bounds(unit: str, *, tightest: float, loosest: float) -> Mapping[str, Bounds]:
    """Returns the metadata of a dataclass field that has `Bounds`."""
    return {"bounds": Bounds(unit=unit, tightest=tightest, loosest=loosest)}

"""Two policies on the same scenes: what is shown so far, for a terminal and for a report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from rich.markup import escape
from rich.table import Table


class Judged(Protocol):
    """An episode, simulated or seen by an operator: a dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def family(self) -> str:
        """The kind of task."""

    @property
    def success(self) -> bool:
        """Whether it was done."""

    @property
    def progress(self) -> float:
        """How much of it."""


T = TypeVar("T", bound=Judged)


class Pairs(Generic[T]):
    """What A and B did, in an order that no outcome has a part in.

    Attributes:
        pairs: A's and B's episode of each scene.
        test: of them all.
        p_values: at any time, after each scene.
    """

    def __init__(self) -> None:
        from tendon.evaluation.paired import PairedTest

        self.pairs: list[tuple[T, T]] = []
        self.test = PairedTest()
        self.p_values: list[float] = []

    def take(self, a: T, b: T) -> None:
        """Takes the next scene."""
        self.pairs.append((a, b))
        self.test.take(a.success, b.success, b.progress - a.progress)
        self.p_values.append(self.test.p_value)

    def table(self, families: Sequence[str]) -> Table:
        """Returns success of both by family and over all, with intervals and the paired difference."""
        from tendon.evaluation.paired import compare_families

        table = Table()
        for column in ("family", "A", "B", "B - A", "p (McNemar)"):
            table.add_column(column)
        outcomes = ((a.family, a.success, b.success) for a, b in self.pairs)
        for name, each in compare_families(outcomes, families).items():
            table.add_row(escape(name), str(each.first), str(each.second), str(each.change), f"{each.p_value:.3g}")
        return table

    def verdict(self) -> list[str]:
        """Returns in words what is shown, and what its p means."""
        test, names = self.test, {"first": "A", "second": "B"}

        def said(which: str, what: str, p_value: float) -> str:
            shown = f"{names[which]} {what}" if which else f"not shown which {what}"
            return f"{shown}, p {p_value:.3g} at any time"

        return [
            f"after {test.count} scenes: {said(test.better, 'succeeds more often', test.p_value)}; "
            f"{said(test.further, 'gets further', test.progress_p_value)}",
            "the table's intervals and McNemar's p are for a number of scenes that was fixed beforehand, and do not "
            "hold where one looked and ended early (--until-shown); p at any time holds whenever one looks.",
        ]

    def found(self) -> dict[str, Any]:
        """Returns all of that as JSON has it, for `compare_page`."""
        return {
            "scenes": self.test.count,
            "only_a": self.test.first,
            "only_b": self.test.second,
            "p_any_time": self.test.p_value,
            "progress_p_any_time": self.test.progress_p_value,
            "verdict": self.verdict(),
            "p_values": self.p_values,
            "episodes": [{"a": asdict(a), "b": asdict(b)} for a, b in self.pairs],
        }

"""Two policies on the same scenes, for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from rich.table import Table

if TYPE_CHECKING:
    from tendon.evaluation.paired import PairedTest


class Judged(Protocol):
    """An episode, simulated or seen by an operator."""

    @property
    def family(self) -> str:
        """The kind of task."""

    @property
    def success(self) -> bool:
        """Whether it was done."""


def pair_table(pairs: Sequence[tuple[Judged, Judged]], families: Sequence[str]) -> Table:
    """Returns success of both by family and over all, with intervals and the paired difference."""
    from tendon.evaluation.paired import mcnemar
    from tendon.evaluation.statistics import paired_difference, wilson

    table = Table()
    for column in ("family", "A", "B", "B - A", "p (McNemar)"):
        table.add_column(column)
    for family in (*families, "all"):
        own = [(a, b) for a, b in pairs if family in (a.family, "all")]
        if not own:
            continue
        outcomes = [[episode.success for episode in side] for side in zip(*own, strict=True)]
        change = paired_difference(*outcomes)
        rates = (str(wilson(sum(side), len(side))) for side in outcomes)
        table.add_row(family, *rates, str(change), f"{mcnemar(change.first, change.second):.3g}")
    return table


def verdict(test: PairedTest) -> list[str]:
    """Returns in words what is shown, and what its p means."""
    names = {"first": "A", "second": "B"}

    def said(which: str, what: str, p_value: float) -> str:
        shown = f"{names[which]} {what}" if which else f"not shown which {what}"
        return f"{shown}, p {p_value:.3g} at any time"

    return [
        f"after {test.count} scenes: {said(test.better, 'succeeds more often', test.p_value)}; "
        f"{said(test.further, 'gets further', test.progress_p_value)}",
        "McNemar's p is for a number of scenes that was fixed beforehand; the other holds whenever one looks.",
    ]

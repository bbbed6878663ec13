"""The state of a running demo, as its terminal shows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tendon.evaluation.recording import Attempt
from tendon.evaluation.story import Step


@dataclass(frozen=True, kw_only=True)
class Status:
    """What is going on now.

    Attributes:
        story: all steps.
        attempts: those that have ended, in order.
        running_s: how long the step after them has been running; `None` when it has not begun.
        doing: what the demo itself does: "starting the graph", ...
        mode: the control node's.
        reports: node name to the newest values of its diagnostics.
    """

    story: tuple[Step, ...]
    attempts: tuple[Attempt, ...] = ()
    running_s: float | None = None
    doing: str = ""
    mode: str = ""
    reports: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

"""The state of a running demo, as its terminal shows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tendon.core.modes import Mode
from tendon.core.node_status import NodeStatus
from tendon.demo.recording import Attempt
from tendon.demo.story import Step


@dataclass(frozen=True, kw_only=True)
class Status:
    """What is going on now.

    Attributes:
        story: all steps.
        attempts: those that have ended, in order.
        running_s: how long the step after them has been running; `None` when it has not begun.
        doing: what the demo itself does: "starting the graph", ...; empty while the story runs
        mode: the control node's; `None` before it was heard.
        statuses: node name to how it is.
    """

    story: tuple[Step, ...]
    attempts: tuple[Attempt, ...] = ()
    running_s: float | None = None
    doing: str = ""
    mode: Mode | None = None
    statuses: Mapping[str, NodeStatus] = field(default_factory=dict)

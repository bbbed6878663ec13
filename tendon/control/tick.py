"""What comes of one control tick."""

from __future__ import annotations

from dataclasses import dataclass

from tendon.core.causes import Cause
from tendon.core.filter_input import FilterInput
from tendon.core.modes import Mode
from tendon.core.types import Array, Command


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class Tick:
    """What one control tick did.

    Attributes:
        command: to send now; `None` in standby and once latched, when the robot holds on its own, and while it settles.
        mode: after the tick.
        reasons: why the robot does not do what the policy asks; empty when it does.
        cause: why it was stopped, as a code; `None` when it was not.
        target: (n,) target of the newest committed point after the residual; `None` when there was none.
        base: (n,) the same before it; `None` where no residual corrects.
        committed: (n,) that point, as the filter made it; `None` when there was no target.
        reference: (n,) where the robot should be at the tick.
        acceleration: (n,) of the newest committed step.
        margin: free part of the tightest limit, see `Verdict`.
        binding: the tightest limit.
        late_ticks: ticks missed before this one.
        inputs: what the filter was given since the last tick, in order.
        last: whether no command follows this one, which is sent more than once as it may be lost.
    """

    mode: Mode
    reference: Array
    acceleration: Array
    command: Command | None = None
    reasons: tuple[str, ...] = ()
    target: Array | None = None
    base: Array | None = None
    committed: Array | None = None
    margin: float = 1.0
    binding: str = ""
    late_ticks: int = 0
    cause: Cause | None = None
    inputs: tuple[FilterInput, ...] = ()
    last: bool = False

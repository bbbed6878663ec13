"""How long a policy's plans are kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from tendon.core.fields import Range, check_fields


@dataclass(frozen=True, kw_only=True)
class Pace:
    """How long a policy's plans are kept: longer is more decided, shorter reacts sooner.

    Attributes:
        replan_rows: rows between two observations that are inferred from. A policy that replans at every row puts off
            what it is unsure of, such as closing the gripper, for ever: it has to carry out a part of its plan.
        continued_rows: rows of the running plan that each answer continues at least, of those that the policy can
            continue. The delay of inference asks for more where it is longer.
    """

    replan_rows: Annotated[int, Range(least=1, most=1000)] = 2
    continued_rows: Annotated[int, Range(least=0, most=1000)] = 0

    def __post_init__(self) -> None:
        check_fields(self, "pace")


USUAL = Pace()

"""What a residual sees and what it may change: the layout of its numbers, the same in training and on the robot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from tendon.core.fields import Range, check_fields

TOOL_ACTIONS = 4
"""Of each tool: x, y, z of its offset and the opening of its gripper."""
TOOL_STATE = 3 + 3 + 1 + TOOL_ACTIONS
"""Of each tool: where it is, how fast, how far its gripper is open, and what is added to it already."""
MOST_EMBEDDING, MOST_POINTS = 15_000, 256
"""More does not go through the graph in one message."""


@dataclass(frozen=True, kw_only=True)
class ResidualSpace:
    """The space of a residual's actions and observations.

    Attributes:
        step_s: between two actions; by default the time between two answers of a base policy.
        tool_m: how far an action of 1 leads the tool from where the base policy has it, along each axis [m]; the joints
            that lead it there are those of a small motion, so that it may be more along one, up to `tool_bound`.
        arm_bound: largest change of a joint of an arm [rad or m], whatever the tool does.
        grip_share: of a gripper's travel that an action of 1 opens it more.
        rows: of the running plan that it sees, perhaps none,
        row_s: apart.
        tools: grippers, or 1 for the tool of an arm without one.
        embedding: E numbers that the base policy tells of an observation; 0 for a policy that tells none.
        points: k places that the base policy points at.
    """

    step_s: Annotated[float, Range(least=0.02, most=1.0, unit="s")] = 0.4
    tool_m: Annotated[float, Range(above=0.0, most=0.2, unit="m")] = 0.03
    arm_bound: Annotated[float, Range(above=0.0, most=1.0)] = 0.25
    grip_share: Annotated[float, Range(least=0.0, most=1.0)] = 0.25
    rows: Annotated[int, Range(least=0, most=50)] = 6
    row_s: Annotated[float, Range(least=0.02, most=1.0, unit="s")] = 0.1
    tools: Annotated[int, Range(least=1, most=8)] = 1
    embedding: Annotated[int, Range(least=0, most=MOST_EMBEDDING)] = 0
    points: Annotated[int, Range(least=0, most=MOST_POINTS)] = 0

    def __post_init__(self) -> None:
        check_fields(self, "residual space")

    @property
    def tool_bound(self) -> float:
        """Farthest that a tool is led in any direction [m]: a little beyond where all actions of 1 together lead it."""
        return 2.0 * self.tool_m

    @property
    def actions(self) -> int:
        """Numbers of an action, each -1 to 1."""
        return TOOL_ACTIONS * self.tools

    @property
    def observations(self) -> int:
        """Numbers of an observation: of each tool its state, its plan and the points from it, then age and embedding.

        A row of the plan is where the tool goes, from where it is, and the opening of its gripper.
        """
        return self.tools * (TOOL_STATE + 4 * self.rows + 3 * self.points) + 1 + self.embedding

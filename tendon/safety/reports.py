"""What nodes say on `safety/state` and `sim/task`: the mode, the permission, what is asked for, and the task."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from tendon.core.causes import Cause
from tendon.core.modes import Mode, Source
from tendon.core.node_status import Level
from tendon.core.permission import Permission
from tendon.safety.response import Response


@dataclass(frozen=True, kw_only=True)
class ControlState:
    """What the controller does.

    Attributes:
        mode: after its last tick.
        event: of the last permission it followed.
        reason: why the robot does not do what the policy asks, or did not arm; empty when there is nothing to say.
        cause: why it was stopped, as a code; `None` when it was not.
        obstacle: why it could not be armed now; empty when it could.
        margin: free part of the tightest limit, 1 far from everything, 0 at a limit.
        binding: the tightest limit.
        source: whose chunks are followed.
        settled: whether chunks may lead: not from arming until the robot is where it starts.
        at_home: whether the reference is at rest at the home position.
        profile: digest of the whole profile that it has loaded.
        looked_at_ns: stamp of the observation of the policy's last chunk, taken or not; 0 before one.
        plan_ns: that of the chunk that it follows; 0 without a plan.
    """

    node: ClassVar[str] = "control_node"
    mode: Mode
    event: int
    reason: str = ""
    cause: Cause | None = None
    obstacle: str = ""
    margin: float = 1.0
    binding: str = ""
    source: Source = Source.POLICY
    settled: bool = True
    at_home: bool = False
    profile: str = ""
    looked_at_ns: int = 0
    plan_ns: int = 0

    @property
    def level(self) -> Level:
        """An error once it was stopped."""
        return Level.ERROR if self.mode.stopped else Level.OK

    @property
    def text(self) -> str:
        """The reason."""
        return self.reason


@dataclass(frozen=True, kw_only=True)
class MonitorState:
    """What the safety monitor permits, and why.

    Attributes:
        permission: the one in force.
        response: what it does about what was found.
        source: of that; empty when nothing was.
        margin: the controller's.
        binding: the controller's.
    """

    node: ClassVar[str] = Permission.node
    permission: Permission
    response: Response = Response.FULL
    source: str = ""
    margin: float | None = None
    binding: str = ""

    @property
    def level(self) -> Level:
        """The permission's."""
        return self.permission.level

    @property
    def text(self) -> str:
        """The permission's reason."""
        return self.permission.reason


@dataclass(frozen=True, kw_only=True)
class ResponseRequest:
    """What a node asks the safety monitor for: to slow, hold or stop the robot, or nothing (full).

    Attributes:
        node: that asks.
        level: how well it is.
        text: why it asks, for a person.
        response: what it asks for.
        scores: that led to it.
    """

    node: str
    level: Level
    text: str
    response: Response
    scores: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class TaskState:
    """Whether the task of a simulated scene is done.

    Attributes:
        scene: as FAMILY/SEED.
        instruction: by which success is judged.
        relation: that the task asks for.
        done: whether it holds now.
    """

    node: ClassVar[str] = "task"
    scene: str
    instruction: str
    relation: str
    done: bool

    @property
    def level(self) -> Level:
        """Always well."""
        return Level.OK

    @property
    def text(self) -> str:
        """In words."""
        return "done" if self.done else "not done"

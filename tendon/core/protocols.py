"""The seams of the graph: what a policy, a stage and a robot backend must do, and nothing more."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from tendon.core.base_motion import BaseMotion, Motion
from tendon.core.pace import Pace
from tendon.core.types import ActionChunk, Command, Observation


class Policy(Protocol):
    """Turns an observation into an action chunk. Called from one thread; may be slow."""

    @property
    def step_ns(self) -> int:
        """Time between the rows of its chunks."""

    @property
    def prefix_rows(self) -> int:
        """Most frozen rows of a prefix that it continues."""

    @property
    def overlap_rows(self) -> int:
        """Rows of a prefix after the frozen ones that it can be led by."""

    @property
    def pace(self) -> Pace:
        """How long its plans are kept."""

    def infer(
        self, observation: Observation, prefix: ActionChunk | None = None, frozen: int | None = None
    ) -> ActionChunk:
        """Returns the next chunk.

        Args:
            observation: what the robot sees now.
            prefix: rows of the running plan on the new chunk's own time grid; the answer continues them. `None`
                when nothing is running.
            frozen: leading rows of `prefix` that will have been executed by the time the answer is in force: it
                starts with them, unchanged. Later ones lead it as far as the policy can. `None`: all of them.
        """


@runtime_checkable
class Remembering(Protocol):
    """A policy that may see its past besides: what a camera showed before the observation that it infers from."""

    @property
    def sees_past(self) -> bool:
        """Whether it does."""

    def observe(self, observation: Observation) -> None:
        """Takes an observation that is not inferred from."""


class Stage(Protocol):
    """One per-tick step between executor and filter, such as the residual. Must not block."""

    def step(self, observation: Observation, base: BaseMotion) -> Motion:
        """Returns what it adds to the base: (n,) positions [rad or m] and (n,) their velocities.

        Args:
            observation: the newest joint state.
            base: the motion due.
        """


class Backend(Protocol):
    """A robot, real or simulated."""

    def observe(self) -> Observation:
        """Returns the newest observation."""

    def apply(self, command: Command) -> Command:
        """Sends a command and returns what was really sent."""

    def close(self) -> None:
        """Releases the robot; it finishes the stop it holds."""

"""The seams of the graph: what a policy, a stage and a robot backend must do, and nothing more."""

from __future__ import annotations

from typing import Protocol

from tendon.core.types import ActionChunk, Array, Command, Observation


class Policy(Protocol):
    """Turns an observation into an action chunk. Called from one thread; may be slow."""

    def infer(self, observation: Observation, prefix: ActionChunk | None = None) -> ActionChunk:
        """Returns the next chunk.

        Args:
            observation: what the robot sees now.
            prefix: rows of the running chunk that will have been executed by the time the answer
                arrives, on the new chunk's own time grid; the answer starts with them and continues
                them smoothly. `None` when nothing is running.
        """


class Stage(Protocol):
    """One per-tick step between executor and filter, such as the residual. Must not block."""

    def step(self, observation: Observation, target: Array) -> Array:
        """Returns the (n,) joint position target after this stage, rad or m."""


class Backend(Protocol):
    """A robot, real or simulated."""

    def observe(self) -> Observation:
        """Returns the newest observation."""

    def apply(self, command: Command) -> Command:
        """Sends a command and returns what was really sent."""

    def close(self) -> None:
        """Releases the robot; it finishes the stop it holds."""

"""A learned correction: an actor answers every step, and the tool is led smoothly to what it answered."""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np

from tendon.control.residual.authority import GAP_PERIODS, Authority
from tendon.control.residual.bounded import BoundedResidual
from tendon.control.residual.space import ResidualSpace
from tendon.control.residual.tools import Tools, joint_bound
from tendon.core.base_motion import BaseMotion, Motion
from tendon.core.errors import MismatchError
from tendon.core.types import Array, Features, Observation
from tendon.robots.profile import RobotProfile

RATE = 20.0
"""How fast the tool comes to what was answered [1/s], critically damped: 60 % of the way in 0.1 s."""
FRESH_STEPS = 2
"""Actions within which a base's answer is as fresh as in training: its delay and the time to the next one."""


class Actor(Protocol):
    """Answers an action for an observation, within a control period."""

    def ask(self, observation: Array) -> None:
        """Takes (O,) what there is to see, see `ResidualSpace.observations`."""

    def answer(self) -> Array:
        """Returns (A,) the action for it, each -1 to 1; it is asked for one control period later."""


class LearnedResidual:
    """A core `Stage`. Not thread-safe.

    An action is an offset of each tool from where the base policy has it. It is asked for at a tick and in force from
    the next one on, so that an actor may be a process or a learner that looks at the world in between.

    Args:
        profile: the robot, of n joints.
        space: what the actor sees and does.
        actor: answers.
        base: digest of the policy that is corrected. Toward motion of another one, or of one that tells nothing, what
            was added goes back to nothing, smoothly.

    Raises:
        MismatchError: the robot has another number of tools than the space.
    """

    def __init__(self, profile: RobotProfile, space: ResidualSpace, actor: Actor, base: str) -> None:
        self._tools, self._space, self._actor, self._base = Tools(profile), space, actor, base
        if self._tools.count != space.tools:
            raise MismatchError(
                f"the residual is for {space.tools} tools, robot {profile.name} has {self._tools.count}: "
                "train one for this robot"
            )
        self._period_ns = round(1e9 / profile.control_hz)
        self._step_ns = round(space.step_s * 1e9)
        self._rest = np.zeros(len(profile.joint_names))
        self._last_ns: int | None = None
        self._begin()

    def _begin(self) -> None:
        self._offset, self._rate, self._goal = self._rest, self._rest, self._rest
        self._action = np.zeros(self._space.actions)
        self._asked, self._next_ns = False, 0

    def step(self, observation: Observation, base: BaseMotion) -> Motion:
        """Returns what is added to the base now.

        Raises:
            MismatchError: the policy tells fewer features than the space has.
        """
        if self._last_ns is None or not 0 < base.due_ns - self._last_ns <= GAP_PERIODS * self._period_ns:
            self._begin()
            passed_s = self._period_ns * 1e-9
        else:
            passed_s = (base.due_ns - self._last_ns) * 1e-9
        self._last_ns = base.due_ns
        features = base.chunk.features
        if features is None or features.policy != self._base:
            self._action, self._goal = np.zeros(self._space.actions), self._rest
            self._asked, self._next_ns = False, 0
        elif self._asked:
            self._asked = False  # also where the answer fails: the next one is for a new observation
            self._action = np.clip(self._actor.answer(), -1.0, 1.0)
            self._goal = self._tools.change(base.position, self._action, self._space)
        elif base.due_ns >= self._next_ns:
            self._actor.ask(self.observe(observation, base, features))
            self._asked, self._next_ns = True, base.due_ns + self._step_ns
        self._follow(passed_s)
        return self._offset, self._rate

    def _follow(self, passed_s: float) -> None:
        """Moves the offset toward its goal as a critically damped spring does, exactly."""
        away, fading = self._offset - self._goal, math.exp(-RATE * passed_s)
        slope = self._rate + RATE * away
        self._offset = self._goal + (away + slope * passed_s) * fading
        self._rate = (self._rate - RATE * slope * passed_s) * fading

    def observe(self, observation: Observation, base: BaseMotion, features: Features) -> Array:
        """Returns (O,) what an actor sees, in the order of `ResidualSpace.observations`; `features` are of the base."""
        space, tools, at = self._space, self._tools, observation.joint_position
        here = tools.positions(at)
        state = np.column_stack(
            [here, tools.velocities(at, observation.joint_velocity), tools.openings(at), self._action.reshape(-1, 4)]
        )
        parts = [state]
        if space.rows:
            window = base.window(base.due_ns, round(space.row_s * 1e9), space.rows)
            rows = base.position[None] if window is None else window.actions
            rows = np.concatenate([rows, np.repeat(rows[-1:], space.rows - len(rows), axis=0)])
            plan = np.array([np.column_stack([tools.positions(row) - here, tools.openings(row)]) for row in rows])
            parts.append(plan.transpose(1, 0, 2).reshape(space.tools, -1))
        points, embedding = features.points, features.embedding
        if len(points) < space.points or len(embedding) < space.embedding:
            raise MismatchError(
                f"the residual needs {space.embedding} numbers and {space.points} points of the policy, it tells "
                f"{len(embedding)} and {len(points)}"
            )
        parts.append((points[None, : space.points] - here[:, None]).reshape(space.tools, -1))
        age_s = np.array([base.age_ns * 1e-9])
        return np.concatenate([np.column_stack(parts).ravel(), age_s, embedding[: space.embedding]])


def learned_residual(profile: RobotProfile, space: ResidualSpace, actor: Actor, base: str) -> BoundedResidual:
    """Returns a learned correction that is held to the bounds of its space.

    Raises:
        MismatchError: see `LearnedResidual`.
    """
    stage = LearnedResidual(profile, space, actor, base)
    authority = Authority(round(1e9 / profile.control_hz), round(FRESH_STEPS * space.step_s * 1e9))
    return BoundedResidual(stage, profile, joint_bound(profile, space), space.tool_bound, authority)

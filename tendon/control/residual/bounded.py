"""The residual slot: what a stage adds to the running plan, held to a bound in joint space and at the tools."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tendon.control.residual.authority import Authority
from tendon.control.residual.tools import Tools
from tendon.core.base_motion import BaseMotion, Motion
from tendon.core.errors import InvalidDataError
from tendon.core.protocols import Stage
from tendon.core.types import Observation, freeze
from tendon.robots.profile import RobotProfile

SHRINKS = 4
"""How often a change that leads a tool too far is made smaller before it is dropped."""


class BoundedResidual:
    """Runs a stage and keeps what it adds within bounds. Not thread-safe.

    What a stage added before it failed fades out as the authority falls, and it is asked again only then: it ramps in
    from nothing.

    Args:
        stage: what proposes the correction; may lie or raise.
        profile: the robot, of n joints.
        joint_bound: (n,) largest change of a joint, rad or m.
        tool_bound: farthest that a tool is led from where the base policy has it [m].
        authority: says which part of what is proposed, and of the bounds, holds.

    Attributes:
        authority: see there.
        problems: what was wrong with the last answer, as long as that fades out; empty when nothing was.

    Raises:
        InvalidDataError: a bound is not a finite number of at least 0, or not one a joint.
    """

    def __init__(
        self, stage: Stage, profile: RobotProfile, joint_bound: npt.ArrayLike, tool_bound: float, authority: Authority
    ) -> None:
        self._stage, self._tools = stage, Tools(profile)
        self._bound = freeze("residual joint_bound", joint_bound, (len(profile.joint_names),))
        if (self._bound < 0).any() or not 0 <= tool_bound < np.inf:
            raise InvalidDataError(f"residual bounds are {self._bound.tolist()} and {tool_bound}, must be at least 0")
        self._tool_bound = tool_bound
        self._change = self._rate = self._none = np.zeros(len(profile.joint_names))
        self.authority = authority
        self.problems: tuple[str, ...] = ()

    def correct(self, observation: Observation | None, base: BaseMotion) -> Motion:
        """Returns the motion with the correction, (n,) position and (n,) velocity; the base's own where there is none.

        Args:
            observation: the newest joint state; without one nothing is corrected.
            base: the motion due.
        """
        plain, authority = (base.position, base.velocity), self.authority
        slope = authority.step(base.due_ns, base.age_ns)
        if not authority.failed:
            self.problems = ()
        if observation is None or authority.now == 0.0:
            self._change, self._rate, authority.failed = self._none, self._none, False
            return plain
        if not authority.failed:
            self._ask(observation, base)
        if authority.failed and not self._change.any():
            authority.now, authority.failed = 0.0, False
            return plain
        part = authority.now
        wanted = part * self._change
        bound, tool_bound = part * self._bound, part * self._tool_bound
        held = np.minimum(np.maximum(wanted, -bound), bound)
        rate = np.where(held == wanted, part * self._rate + slope * self._change, 0.0)
        before = self._tools.positions(base.position)
        for _ in range(SHRINKS):
            moved = self._tools.positions(base.position + held) - before
            far = float(np.sqrt((moved * moved).sum(axis=1)).max())
            if far <= tool_bound:
                return base.position + held, base.velocity + rate
            held, rate = held * (0.999 * tool_bound / far), np.zeros_like(rate)
        self.problems = (f"residual led a tool {far:.3f} m away, allowed {tool_bound:.3f}",)
        return plain

    def _ask(self, observation: Observation, base: BaseMotion) -> None:
        """Takes what the stage adds; where it fails, what it added before is left, at rest."""
        try:
            change, rate = (np.asarray(each, dtype=np.float64) for each in self._stage.step(observation, base))
        except Exception as error:  # whatever a learned stage raises must not take the control loop down
            self._fail(f"residual failed: {type(error).__name__}: {error}")
            return
        shape = base.position.shape
        if change.shape != shape or rate.shape != shape or not np.isfinite([change, rate]).all():
            self._fail(f"residual answered {change.tolist()}, {rate.tolist()}: not {shape[0]} finite numbers")
            return
        self._change, self._rate = change, rate

    def _fail(self, problem: str) -> None:
        self.problems, self._rate, self.authority.failed = (problem,), self._none, True

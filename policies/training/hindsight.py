"""What a recorded motion tells of its things: the hand closed where the target was, and let go where the goal is.

Keyframes by the gripper's state are those of James and Davison (2022).
"""

from __future__ import annotations

import numpy as np

from tendon.core.stamps import SECOND_NS
from tendon.core.types import Array
from tendon.robots.kinematics import Kinematics
from tendon.robots.profile import RobotProfile

GRIP_M = 0.002
"""By so much fingers are wider than they are told to be where something is between them."""
STILL_M_S = 0.015
"""Fingers that go faster are still closing."""
LASTS = 3
"""Frames in a row."""


class Hindsight:
    """Labels of the frames of one episode.

    Args:
        stamps_ns: (k,) of its frames.
        state, action: (k, n) joints, and where they were told to be next, in the profile's order [rad or m].
        profile: of its robot; one without exactly one gripper has no such labels.
    """

    def __init__(self, stamps_ns: Array, state: Array, action: Array, profile: RobotProfile) -> None:
        self._stamps = stamps_ns
        self._grasps: list[tuple[int, int | None, Array, Array | None]] = []
        self._knows = len(profile.grippers) == 1 and len(state) > LASTS
        if not self._knows:
            return
        gripper = profile.grippers[0]
        column = profile.joint_names.index(gripper.joint)
        is_wide, told = (
            np.array([gripper.half_width(float(each)) for each in rows[:, column]]) for rows in (state, action)
        )
        speed = np.abs(np.gradient(is_wide, np.asarray(stamps_ns, dtype=np.float64) / SECOND_NS))
        holds = (is_wide - told > GRIP_M) & (speed < STILL_M_S)
        self._tool = tool = Kinematics(profile, gripper.frame, gripper.group)
        k, count = 0, len(holds)
        while k < count:
            if not holds[k : k + LASTS].all() or k + LASTS > count:
                k += 1
                continue
            opens = np.flatnonzero(told[k:] - is_wide[k:] > -0.5 * GRIP_M)
            end = k + int(opens[0]) if len(opens) else None
            place = None if end is None else tool.tool_pose(state[end])[0]
            self._grasps.append((k, end, tool.tool_pose(state[k])[0], place))
            k = count if end is None else end + 1

    def labels(self, stamp_ns: int, joints: Array) -> tuple[Array, Array]:
        """Returns (2, 3) where target and goal are [m, base frame], and (2,) held, done; NaN where that is not told.

        Args:
            stamp_ns: of a frame.
            joints: (n,) in it.
        """
        points, flags = np.full((2, 3), np.nan), np.full(2, np.nan)
        if not self._knows:
            return points, flags
        k = int(np.searchsorted(self._stamps, stamp_ns))
        flags[0] = 0.0
        for begin, end, grasp, place in self._grasps:
            if end is not None and k > end:
                continue
            held = k >= begin
            points[0] = self._tool.tool_pose(joints)[0] if held else grasp
            flags[0] = float(held)
            if place is not None:
                points[1] = place
            return points, flags
        if self._grasps and self._grasps[-1][3] is not None:
            points[:] = self._grasps[-1][3]
        return points, flags

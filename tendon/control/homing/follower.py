"""Which way home a controller follows, and what is left of it after a hold."""

from __future__ import annotations

import numpy as np

from tendon.control.homing.chunk import HomingChunks, rest_of_way
from tendon.core.errors import StoppedError
from tendon.core.types import ActionChunk, Array
from tendon.robots.profile import RobotProfile

TOLERANCE = 1e-3
"""How near to a place [rad or m] counts as there."""
NEARER = 1e-2
"""By how much [rad or m] a chunk that did not come home must have made the way shorter, for another one."""


class HomeFollower:
    """Not thread-safe.

    Args:
        profile: the limits that it lays ways out within.
    """

    def __init__(self, profile: RobotProfile) -> None:
        self._home = profile.vector("home")
        self._chunks = HomingChunks(profile)
        self._way: Array | None = None
        self._from = self._home
        self._asked = False

    def ask(self) -> None:
        """Waits for a way, and forgets the one before."""
        self._way, self._asked = None, True

    def follow(self, way: Array, position: Array) -> None:
        """Takes a (k, n) way.

        Raises:
            StoppedError: nobody waits for it, or (n,) `position`, where the reference comes to rest, is not where it
                begins.
        """
        if not self._asked:
            raise StoppedError("not going home: the robot was stopped, or armed anew, while its way home was planned")
        if (np.abs(position - way[0]) > TOLERANCE).any():
            raise StoppedError("not going home: the robot was moved while its way home was planned")
        self._way = way

    def at_home(self, position: Array) -> bool:
        """Returns whether (n,) `position` is home."""
        return bool((np.abs(position - self._home) < TOLERANCE).all())

    def forget(self) -> None:
        """Forgets it, and takes none until it is asked for."""
        self._way, self._asked = None, False

    def idle(self, position: Array) -> str:
        """Returns why a reference that rests at (n,) `position` is not under way, in words."""
        if self.at_home(position):
            return "at home"
        if self._way is None:
            return "waits for its way home"
        return "did not come home by its way: ask again, or move it by teleoperation"

    def came_nearer(self, position: Array) -> bool:
        """Returns whether the last chunk led nearer to home, and (n,) `position` is not there yet.

        Somebody stood in the way for a while: the rest of it is worth another chunk.
        """
        return not self.at_home(position) and self._left(position) < self._left(self._from) - NEARER

    def _left(self, position: Array) -> float:
        """Returns how long the way from (n,) `position` is."""
        if self._way is None:
            return 0.0
        return float(np.linalg.norm(np.diff(rest_of_way(self._way, position), axis=0), axis=1).sum())

    def chunk(self, position: Array, speed: float, start_ns: int, now_ns: int) -> ActionChunk | None:
        """Returns what is left of the way from (n,) `position`, where the reference rests; `None` without a way."""
        if self._way is None:
            return None
        self._from = position
        return self._chunks.chunk(rest_of_way(self._way, position), speed, start_ns, now_ns)

"""Plans the way home: straight where that is free, else out of what is too near and around the rest."""

from __future__ import annotations

import itertools
import time

import numpy as np
import numpy.typing as npt

from tendon.control.clearance.model import Clearance
from tendon.control.homing.free_space import FreeSpace
from tendon.control.homing.rrt_connect import connect, shorten
from tendon.core.errors import NoWayError
from tendon.core.types import Array
from tendon.robots.profile import RobotProfile

SPARES_M = (0.01, 0.003, 0.0005)
"""Room beyond every margin that a way is looked for with: one an attempt, the last one again and again. With the first
the filter has nothing to do at the speed of the way home; with the others it may lead around something."""
SHORTEN_S = 0.5
"""How long a way that was found is made shorter at most."""
ATTEMPT_S = 0.1
"""How long the first attempt takes at most; each next one twice as long. Most ways are found in milliseconds, and what
takes a second with one sequence of samples may take a millisecond with the next."""
LIMIT_S = 2.0
"""How long a way is looked for."""
LEAST_ROOM_M = 1e-4
"""A start with less room than this anywhere is led out first, or not at all."""


class HomePlanner:
    """Finds ways to the profile's home. One instance a thread.

    A joint that may hold something (no `tracking_tolerance`) takes part in no detour: it goes from where it is to home.

    Args:
        profile: limits and home.
        clearance: what must be kept apart, of the same profile, as the filter has it.
    """

    def __init__(self, profile: RobotProfile, clearance: Clearance) -> None:
        self._home = profile.vector("home")
        self._velocity = profile.vector("velocity")
        self._limits = profile.vector("lower"), profile.vector("upper")
        self._holding: npt.NDArray[np.bool_] = np.isinf(profile.tracking_tolerance)
        self._clearance = clearance

    def plan(self, start: Array, limit_s: float = LIMIT_S) -> Array:
        """Returns (k, n) points from (n,) `start` to home; the straight edges between them are the way.

        Every edge keeps position limits and clearances. What is outside a limit or inside a margin at the start only
        comes back along the first edges.

        Args:
            start: where the reference rests.
            limit_s: wall time after which it gives up; a way that was found by then is made shorter for `SHORTEN_S`.

        Raises:
            NoWayError: there is none, or none was found in time; the message says what is nearest.
        """
        begun_s = time.monotonic()
        lower, upper = self._limits
        inside = np.clip(start, lower, upper)
        low = np.where(self._holding, np.minimum(inside, self._home), lower)
        high = np.where(self._holding, np.maximum(inside, self._home), upper)
        space = FreeSpace(self._clearance, low, high)
        at_home = space.room(self._home)
        if at_home.min() < LEAST_ROOM_M:
            raise NoWayError(
                f"no way home: at home {self._nearest(self._home)}; change home in the profile, or the environment"
            )
        spare = np.minimum(SPARES_M[0], 0.5 * at_home)
        begin = [start] if (inside == start).all() else self._back(start, low, high, 2.0 * spare)
        inside = begin[-1]
        room = space.room(inside)
        if room.min() >= LEAST_ROOM_M and space.keeps(inside, self._home, np.minimum(spare, 0.5 * room)):
            return np.array([*begin, self._home])
        if (room < 2.0 * spare).any():
            begin += space.escape(inside, 2.0 * spare)[1:]
            room = space.room(begin[-1])
        if room.min() < LEAST_ROOM_M:
            raise self._no_way_out(start)
        rng = np.random.default_rng(0)  # the same question has the same answer, as far as its time goes
        attempt, deadline_s = 0, begun_s + limit_s
        while (now_s := time.monotonic()) < deadline_s:
            widest = SPARES_M[min(attempt, len(SPARES_M) - 1)]
            spare = np.minimum(widest, 0.5 * np.minimum(room, at_home))
            until_s = min(deadline_s, now_s + ATTEMPT_S * 2**attempt)
            found = self._around(space, begin[-1], spare, widest**0.5, until_s, rng)
            if found is not None:
                return np.array([*begin, *found[1:]])
            attempt += 1
        raise NoWayError(f"no way home found within {limit_s:g} s: {self._nearest(start)}; move it by teleoperation")

    def _back(self, start: Array, low: Array, high: Array, wanted: Array) -> list[Array]:
        """Returns points from outside the limits to inside; first out of what is too near, where that is in the way.

        Raises:
            NoWayError: there is no such way.
        """
        space = FreeSpace(self._clearance, np.minimum(low, start), np.maximum(high, start))
        for begin in ([start], space.escape(start, wanted)):
            inside = np.clip(begin[-1], low, high)
            if space.keeps(begin[-1], inside, np.zeros_like(wanted)):
                return [*begin, inside]
        raise self._no_way_out(start)

    def _no_way_out(self, start: Array) -> NoWayError:
        return NoWayError(f"no way home: {self._nearest(start)}, and no way out of there; move it by teleoperation")

    def _around(
        self, space: FreeSpace, start: Array, spare: Array, apart: float, until_s: float, rng: np.random.Generator
    ) -> list[Array] | None:
        """Returns points of a way that keeps half of (m,) `spare` [m] at least; `None` when the time is up."""

        def seems_free(a: Array, b: Array) -> bool:
            return space.seems_kept(a, b, spare, apart)

        def is_free(a: Array, b: Array) -> bool:
            return seems_free(a, b) and space.keeps(a, b, 0.5 * spare)

        def slide(a: Array, b: Array) -> Array | None:
            return space.slide(a, b, spare)

        def go_on() -> bool:
            return time.monotonic() < until_s

        if space.keeps(start, self._home, 0.5 * spare):
            return [start, self._home]
        while go_on():
            way = connect(start, self._home, (space.lower, space.upper), self._velocity, seems_free, slide, go_on, rng)
            if way is not None and all(space.keeps(a, b, 0.5 * spare) for a, b in itertools.pairwise(way)):
                until_s = time.monotonic() + SHORTEN_S
                return shorten(way, self._velocity, is_free, go_on, rng)
        return None

    def _nearest(self, q: Array) -> str:
        """Returns what has the least room, in words."""
        distances = self._clearance.distances(q)
        k = int((distances - self._clearance.margin).argmin())
        one, other = self._clearance.names[k].split(" - ")
        away, margin = 1e3 * distances[k], 1e3 * self._clearance.margin[k]
        where = f"{-away:.0f} mm inside" if away < 0.0 else f"{away:.0f} mm from"
        return f"{one} is {where} {other}" + (f" (margin {margin:.0f} mm)" if margin else "")

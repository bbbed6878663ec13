"""The motion between the points of a command: cubics, their largest values, and where a command is at a time."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

import numpy as np

from tendon.core.types import Array, SentTrajectory


@dataclass(frozen=True, kw_only=True, eq=False)
class Cubics:
    """k cubics of n joints, `p + v s + c s^2 + d s^3` for s from 0 to h [s]; each (k, n), `h` (k, 1)."""

    p: Array
    v: Array
    c: Array
    d: Array
    h: Array

    @staticmethod
    def through(position: Array, velocity: Array, h: Array) -> Cubics:
        """Returns the cubic Hermite splines through (k + 1, n) points that are (k, 1) `h` seconds apart."""
        slope = np.diff(position, axis=0) / h
        v0, v1 = velocity[:-1], velocity[1:]
        return Cubics(p=position[:-1], v=v0, c=(3.0 * slope - 2.0 * v0 - v1) / h, d=(v0 + v1 - 2.0 * slope) / h**2, h=h)

    @property
    def jerk(self) -> Array:
        """(k, n) rad/s^3 or m/s^3."""
        return 6.0 * self.d

    def accelerations(self) -> tuple[Array, Array]:
        """Returns (k, n) at the start and at the end of each; between them it is a line."""
        return 2.0 * self.c, 2.0 * self.c + 6.0 * self.d * self.h

    def hulls(self) -> tuple[Array, Array]:
        """Returns Bezier control points that enclose the positions (4k, n) and the velocities (3k, n)."""
        third = self.h / 3.0
        change = self.h * self.c
        second = self.p + third * self.v
        last = self.p + self.h * (self.v + change + self.h * self.h * self.d)
        positions = np.concatenate([self.p, second, second + third * (self.v + change), last])
        return positions, np.concatenate([self.v, self.v + change, self._rate(self.h)])

    def speeds(self) -> Array:
        """Returns the largest |velocity| of each (k, n): at an end, or where the acceleration is zero."""
        with np.errstate(divide="ignore", invalid="ignore"):
            turn = np.where(self.d != 0.0, -self.c / (3.0 * self.d), 0.0)
        turn = np.minimum(np.maximum(turn, 0.0), self.h)
        rates = [self.v, self._rate(turn), self._rate(self.h)]
        return np.asarray(np.abs(rates).max(axis=0))

    def positions(self) -> tuple[Array, Array]:
        """Returns the smallest and the largest position of each (k, n): at an end, or where the velocity is zero."""
        a, b, c = 3.0 * self.d, 2.0 * self.c, self.v
        root = np.sqrt(np.maximum(b * b - 4.0 * a * c, 0.0))
        q = -0.5 * (b + np.copysign(root, b))  # the form of the quadratic's roots that loses no digits
        with np.errstate(divide="ignore", invalid="ignore"):
            roots = [np.where(a != 0.0, q / a, 0.0), np.where(q != 0.0, c / q, 0.0)]
        times = [np.zeros_like(a), *(np.minimum(np.maximum(s, 0.0), self.h) for s in roots), self.h]
        values = [self.p + s * (self.v + s * (self.c + s * self.d)) for s in times]
        return np.minimum.reduce(values), np.maximum.reduce(values)

    def _rate(self, s: Array) -> Array:
        return np.asarray(self.v + s * (2.0 * self.c + 3.0 * s * self.d))


def sample(command: SentTrajectory, at_ns: int) -> tuple[Array, Array]:
    """Returns (n,) position and (n,) velocity that a command asks for at a time; the ends hold."""
    offset_ns = at_ns - command.stamp_ns
    after = bisect_right(command.times_ns, offset_ns)
    if after == len(command.times_ns):
        return command.position[-1], np.zeros_like(command.position[-1])
    if after == 0:
        return command.position[0], command.velocity[0]
    begin_ns = command.times_ns[after - 1]
    if begin_ns == offset_ns:
        return command.position[after - 1], command.velocity[after - 1]
    h = np.array([[(command.times_ns[after] - begin_ns) * 1e-9]])
    cubic = Cubics.through(command.position[after - 1 : after + 1], command.velocity[after - 1 : after + 1], h)
    s = (offset_ns - begin_ns) * 1e-9
    position: Array = cubic.p + s * (cubic.v + s * (cubic.c + s * cubic.d))
    velocity: Array = cubic.v + s * (2.0 * cubic.c + 3.0 * s * cubic.d)
    return position[0], velocity[0]

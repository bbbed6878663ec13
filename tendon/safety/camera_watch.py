"""Whether a camera is alive: frames that come, are neither black nor flat, and change when the robot moves.

A stamp proves nothing: a driver may stamp the same picture for ever. Content is compared, and only while the robot
moves.
"""

from __future__ import annotations

import zlib
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from tendon.core.causes import Cause
from tendon.core.types import Array
from tendon.robots.profile import Camera
from tendon.robots.safety_settings import SafetySettings, nanoseconds
from tendon.safety.response import Finding, Response

SAMPLE_STRIDE = 97
"""Bytes between those looked at for black and constant; a prime, so that all columns and colours have their turn."""
HISTORY = 1000
"""Joint states that are remembered: a second at least, longer than any camera takes."""


@dataclass(frozen=True, kw_only=True)
class Frame:
    """What is kept of a picture.

    Attributes:
        stamp_ns: exposure.
        digest: CRC-32 of all its bytes.
        darkest: smallest byte of a sample.
        brightest: largest byte of it.
    """

    stamp_ns: int
    digest: int
    darkest: int
    brightest: int

    @staticmethod
    def of(stamp_ns: int, data: bytes | memoryview) -> Frame:
        """Returns it for the bytes of an image."""
        sample = np.frombuffer(data, dtype=np.uint8)[::SAMPLE_STRIDE]
        low, high = (int(sample.min()), int(sample.max())) if len(sample) else (0, 0)
        return Frame(stamp_ns=stamp_ns, digest=zlib.crc32(data), darkest=low, brightest=high)


class CameraWatch:
    """One camera. A fault holds the robot; one that lasts stops it.

    Args:
        camera: its name and rate.
        required: whether something in the graph needs this camera now.
        robot_ns: the robot's time: stamp of its newest joint state. Only with it is a simulation that goes slower
            than the wall clock no dead camera.
        pose_at: (n,) where the joints that a camera must see move were at a stamp; `None` while that is not known.
        settings: what a fault is, and how long it may last.
    """

    def __init__(
        self,
        camera: Camera,
        required: Callable[[], bool],
        robot_ns: Callable[[], int],
        pose_at: Callable[[int], Array | None],
        settings: SafetySettings,
    ) -> None:
        self.name = camera.name
        self._period_ns = round(1e9 / camera.rate_hz)
        self._required, self._robot_ns, self._pose_at = required, robot_ns, pose_at
        self._settings, self._latch_ns = settings, nanoseconds(settings.camera_latch_s)
        self._last: Frame | None = None
        self._arrived = (0, 0)
        self._fault = ""
        self._equal = 1
        self._equal_from: Array | None = None
        self._needed_since: tuple[int, int] | None = None
        self._bad_since_ns: int | None = None

    def take(self, frame: Frame, now_ns: int) -> None:
        """Takes a frame that has just arrived."""
        last, self._last = self._last, frame
        self._arrived = (now_ns, self._robot_ns())
        if last is None or frame.digest != last.digest:
            self._equal, self._equal_from = 1, self._pose_at(frame.stamp_ns)
        else:
            self._equal += 1
        self._fault = self._stamp_fault(last, frame) or self._flat_fault(frame) or self._frozen_fault(frame)

    @staticmethod
    def _stamp_fault(last: Frame | None, frame: Frame) -> str:
        if last is None or frame.stamp_ns > last.stamp_ns:
            return ""
        if frame.stamp_ns == last.stamp_ns:
            return "sends the same stamp again"
        return f"goes back in time by {(last.stamp_ns - frame.stamp_ns) * 1e-6:.1f} ms"

    def _flat_fault(self, frame: Frame) -> str:
        if frame.brightest <= self._settings.camera_black:
            return "is black"
        if frame.brightest - frame.darkest <= self._settings.camera_flat:
            return f"shows nothing but grey value {frame.darkest}"
        return ""

    def _frozen_fault(self, frame: Frame) -> str:
        pose, before = self._pose_at(frame.stamp_ns), self._equal_from
        if self._equal < self._settings.camera_equal_frames or pose is None or before is None:
            return ""
        if np.abs(pose - before).sum() <= self._settings.camera_motion:
            return ""
        return f"is frozen: {self._settings.camera_equal_frames} or more equal frames while the robot moved"

    def findings(self, now_ns: int) -> Iterable[Finding]:
        """Returns what is wrong with the camera, when it is required."""
        fault = self._now(now_ns) if self._required() else ""
        if not self._required():
            self._needed_since = None
        if not fault:
            self._bad_since_ns = None
            return []
        self._bad_since_ns = now_ns if self._bad_since_ns is None else self._bad_since_ns
        lasted = now_ns - self._bad_since_ns >= self._latch_ns
        reason = f"camera {self.name} {fault}" + (f" for {self._latch_ns / 1e9:g} s" if lasted else "")
        response = Response.STOP if lasted else Response.HOLD
        return [Finding(source=f"camera {self.name}", response=response, cause=Cause.CAMERA, reason=reason)]

    def _now(self, now_ns: int) -> str:
        if self._needed_since is None:
            self._needed_since = (now_ns, self._robot_ns())
        since = max(self._arrived, self._needed_since)
        silent_ns = min(now_ns - since[0], self._robot_ns() - since[1])
        missed = self._settings.camera_missed_periods
        if silent_ns > missed * self._period_ns:
            return f"has sent nothing for {missed:g} periods"
        return self._fault


class PoseHistory:
    """Where the robot was a moment ago.

    Args:
        joints: which columns of a pose are kept.
    """

    def __init__(self, joints: list[int]) -> None:
        self._joints = joints
        self._stamps: deque[int] = deque(maxlen=HISTORY)
        self._poses: deque[Array] = deque(maxlen=HISTORY)

    @property
    def newest_ns(self) -> int:
        """Stamp of the newest pose, 0 before the first."""
        return self._stamps[-1] if self._stamps else 0

    def add(self, stamp_ns: int, position: Array) -> None:
        """Takes (n,) positions; one that is not newer than the last is dropped."""
        if stamp_ns > self.newest_ns:
            self._stamps.append(stamp_ns)
            self._poses.append(position[self._joints])

    def at(self, stamp_ns: int) -> Array | None:
        """Returns (k,) positions at a time, those next to it at the ends; `None` when there are none."""
        if not self._stamps:
            return None
        return self._poses[min(bisect_left(self._stamps, stamp_ns), len(self._poses) - 1)]

"""Aligns camera frames and joint states to one instant, by the time of exposure. No ROS in it."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tendon.core.errors import InvalidDataError
from tendon.core.profile import RobotProfile
from tendon.core.types import Array, Image, Observation, freeze


@dataclass(frozen=True, kw_only=True)
class Tolerances:
    """What counts as the same time.

    Attributes:
        skew_ns: largest difference between exposures of one observation.
        joint_gap_ns: largest time between two joint states that are interpolated.
        age_ns: largest age of a frame or joint state on arrival.
        ahead_ns: how far a stamp may be ahead of now.
    """

    skew_ns: int = 10_000_000
    joint_gap_ns: int = 50_000_000
    age_ns: int = 200_000_000
    ahead_ns: int = 5_000_000


class ObservationBuffer:
    """Collects what arrives and answers the newest complete observation. Called from one thread.

    An observation is stamped with the earliest exposure of its frames, so that its age is never
    understated. Joint position and velocity are linear between the two joint states around that stamp: at
    100 Hz and 15 rad/s^2 that is within 0.2 mrad. Nothing is extrapolated: the joint state after the
    exposure must have arrived.

    Args:
        profile: gives the joint order and the sizes of images.
        cameras: names of the cameras an observation needs.
        tolerances: what counts as the same time.
        frames: how many frames a camera are kept while others catch up.
        joint_states: how many joint states are kept.
    """

    def __init__(
        self,
        profile: RobotProfile,
        cameras: Sequence[str],
        tolerances: Tolerances | None = None,
        frames: int = 8,
        joint_states: int = 256,
    ) -> None:
        self._names = profile.joint_names
        self._sizes = {camera.name: (camera.width, camera.height) for camera in profile.cameras}
        self._tolerances = tolerances or Tolerances()
        self._images: dict[str, deque[Image]] = {name: deque(maxlen=frames) for name in cameras}
        self._joints: deque[tuple[int, Array, Array]] = deque(maxlen=joint_states)
        self._last_ns: int | None = None

    def reset(self) -> None:
        """Forgets all, stamps too: for a new episode or a clock that was set back on purpose."""
        for frames in self._images.values():
            frames.clear()
        self._joints.clear()
        self._last_ns = None

    def add_image(self, camera: str, image: Image, now_ns: int) -> None:
        """Takes a frame.

        Raises:
            InvalidDataError: an unknown camera, another size than the profile's, or a stamp that is stale, in the
                future, repeated or out of order.
        """
        if camera not in self._images:
            raise InvalidDataError(f"frame of camera {camera}, expected one of {', '.join(self._images) or 'none'}")
        height, width, _ = image.pixels.shape
        if (width, height) != self._sizes[camera]:
            wanted = "x".join(map(str, self._sizes[camera]))
            raise InvalidDataError(
                f"camera {camera} gives {width}x{height} px, the profile has {wanted}: set the size at the camera, or "
                "put a resizing node behind it"
            )
        frames = self._images[camera]
        self._check_stamp(f"camera {camera}", image.stamp_ns, frames[-1].stamp_ns if frames else None, now_ns)
        frames.append(image)

    def add_joints(
        self, stamp_ns: int, names: Sequence[str], position: Sequence[float], velocity: Sequence[float], now_ns: int
    ) -> None:
        """Takes a joint state in any order; joints that the profile does not have are ignored.

        Raises:
            InvalidDataError: a joint is missing or named twice, a position or velocity is missing or not finite,
                or the stamp is stale, in the future, repeated or out of order.
        """
        place = {name: i for i, name in enumerate(names)}
        missing = [name for name in self._names if name not in place]
        if missing:
            raise InvalidDataError(f"joint state lacks {', '.join(missing)} (it has: {', '.join(names) or 'none'})")
        if len(place) != len(names):
            raise InvalidDataError(f"joint state names a joint twice: {', '.join(names)}")
        order = [place[name] for name in self._names]
        position_rad = freeze("joint state position", position, (len(names),))[order]
        velocity_rad_s = freeze("joint state velocity", velocity, (len(names),))[order]
        self._check_stamp("joint state", stamp_ns, self._joints[-1][0] if self._joints else None, now_ns)
        self._joints.append((stamp_ns, position_rad, velocity_rad_s))

    def observation(self, instruction: str) -> Observation | None:
        """Returns the newest complete observation not returned before, or `None` while there is none."""
        if not self._images or not all(self._images.values()):
            return None
        reference = min(self._images.values(), key=lambda frames: frames[-1].stamp_ns)
        for image in reversed(reference):
            chosen = {
                name: min(frames, key=lambda frame: abs(frame.stamp_ns - image.stamp_ns))
                for name, frames in self._images.items()
            }
            stamps = [frame.stamp_ns for frame in chosen.values()]
            stamp_ns = min(stamps)
            if self._last_ns is not None and stamp_ns <= self._last_ns:
                return None
            state = self._state_at(stamp_ns)
            if max(stamps) - stamp_ns <= self._tolerances.skew_ns and state is not None:
                self._last_ns = stamp_ns
                position, velocity = state
                return Observation(
                    stamp_ns=stamp_ns,
                    joint_position=position,
                    joint_velocity=velocity,
                    images=chosen,
                    instruction=instruction,
                )
        return None

    def _state_at(self, stamp_ns: int) -> tuple[Array, Array] | None:
        after = bisect_right(self._joints, stamp_ns, key=lambda state: state[0])
        if after == 0:
            return None
        before_ns, position, velocity = self._joints[after - 1]
        if before_ns == stamp_ns:
            return position, velocity
        if after == len(self._joints):
            return None
        after_ns, next_position, next_velocity = self._joints[after]
        if after_ns - before_ns > self._tolerances.joint_gap_ns:
            return None
        share = (stamp_ns - before_ns) / (after_ns - before_ns)
        return (
            np.asarray((1.0 - share) * position + share * next_position),
            np.asarray((1.0 - share) * velocity + share * next_velocity),
        )

    def _check_stamp(self, what: str, stamp_ns: int, last_ns: int | None, now_ns: int) -> None:
        age_ns = now_ns - stamp_ns
        if age_ns > self._tolerances.age_ns:
            raise InvalidDataError(
                f"{what} is {age_ns / 1e6:.1f} ms old, at most {self._tolerances.age_ns / 1e6:.1f} ms is used: "
                "check the clocks and the rate"
            )
        if -age_ns > self._tolerances.ahead_ns:
            raise InvalidDataError(f"{what} is stamped {-age_ns / 1e6:.1f} ms in the future: check the clocks")
        if last_ns is not None and stamp_ns <= last_ns:
            problem = "repeats" if stamp_ns == last_ns else "comes after"
            raise InvalidDataError(f"{what} stamped {stamp_ns} ns {problem} {last_ns} ns: dropped")

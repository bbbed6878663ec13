"""Aligns camera frames and joint states to one instant, by the time of exposure. No ROS in it."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tendon.core.errors import InvalidDataError
from tendon.core.types import Image, Observation
from tendon.observation.assembly import JointSample, Sources, assemble, exposed
from tendon.observation.joints import ordered
from tendon.robots.profile import RobotProfile
from tendon.robots.safety_settings import nanoseconds


@dataclass(frozen=True, kw_only=True)
class Tolerances:
    """What counts as the same time, but for exposures, of which the profile decides (`RobotProfile.camera_skew`).

    Attributes:
        joint_gap_ns: largest time between two joint states that are interpolated.
        joint_ahead_ns: how long after the newest joint state its velocity is taken to last, so that a frame need not
            wait for the next one: at 15 rad/s^2 a position is off by less than 0.8 mrad then. 0 waits.
        age_ns: largest age of a frame or joint state on arrival.
        ahead_ns: how far a stamp may be ahead of now.
    """

    joint_gap_ns: int = 50_000_000
    joint_ahead_ns: int = 10_000_000
    age_ns: int = 200_000_000
    ahead_ns: int = 5_000_000


UNUSABLE_NS = 1_000_000_000
"""After how much time in which frames came and none was used that is an error."""
SLOW_PERIODS = 3
"""Periods of the slowest camera, where they are longer than that."""


class ObservationBuffer:
    """Collects what arrives and answers the newest complete observation. Called from one thread.

    An observation is stamped with the earliest exposure of its frames, so that its age is never understated: a camera
    stamps its frames later than that by the latency that the profile's calibration has. Joint position and velocity are
    linear between the two joint states around that stamp: at 100 Hz and 15 rad/s^2 that is within 0.2 mrad. When the
    one after it has not arrived yet, they come from the one before, if that is no older than `joint_ahead_ns`. Cameras
    need not be triggered together: of the frames kept, those that lie closest in time are taken, and none that are
    further apart than the profile's `camera_skew`.

    Args:
        profile: gives the joint order and the sizes of images.
        cameras: names of the cameras an observation needs.
        tolerances: what counts as the same time.
        frames: how many frames a camera are kept at least while others catch up, which may be late by `age_ns`.
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
        self._late_ns = {name: nanoseconds(late_s) for name, late_s in profile.latencies.cameras.items()}
        self._sizes = {camera.name: (camera.width, camera.height) for camera in profile.cameras}
        self._tolerances = tolerances or Tolerances()
        self._skew_ns = round(1e9 * profile.camera_skew(cameras))
        periods_ns = [round(1e9 / profile.camera(name).rate_hz) for name in cameras]
        self._patience_ns = max(UNUSABLE_NS, SLOW_PERIODS * max(periods_ns, default=0))
        age_ns = self._tolerances.age_ns
        self._images: dict[str, deque[Image]] = {
            name: deque(maxlen=max(frames, age_ns // period_ns + 2))
            for name, period_ns in zip(cameras, periods_ns, strict=True)
        }
        self._joints: deque[JointSample] = deque(maxlen=joint_states)
        self._last_ns: int | None = None
        self._unused_since_ns = 0
        self.sources: Sources | None = None
        """What the last observation was made of."""

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
        image = exposed(image, self._late_ns.get(camera, 0))
        frames = self._images[camera]
        self._check_stamp(f"camera {camera}", image.stamp_ns, frames[-1].stamp_ns if frames else None, now_ns)
        if not frames or image.stamp_ns - frames[-1].stamp_ns > self._patience_ns:
            self._unused_since_ns = image.stamp_ns  # a camera that begins, or comes back
        frames.append(image)

    def add_joints(
        self, stamp_ns: int, names: Sequence[str], position: Sequence[float], velocity: Sequence[float], now_ns: int
    ) -> None:
        """Takes a joint state in any order; joints that the profile does not have are ignored.

        Raises:
            InvalidDataError: a joint is missing or named twice, a position or velocity is missing or not finite,
                or the stamp is stale, in the future, repeated or out of order.
        """
        state = ordered(self._names, stamp_ns, names, position, velocity)
        self._check_stamp("joint state", stamp_ns, self._joints[-1].stamp_ns if self._joints else None, now_ns)
        self._joints.append(state)

    def observation(self, instruction: str) -> Observation | None:
        """Returns the newest complete observation not returned before, or `None` while there is none.

        Without cameras it is the newest joint state.
        """
        if not self._images:
            return self._joints_only(instruction)
        for images in self._matches(self._last_ns):
            begin_ns, end_ns = _span(images)
            if self._last_ns is not None and begin_ns <= self._last_ns:
                return None
            states = self._states_at(begin_ns)
            if end_ns - begin_ns <= self._skew_ns and states:
                self._unused_since_ns = begin_ns
                return self._give(images, states, instruction)
        return None

    def _joints_only(self, instruction: str) -> Observation | None:
        if not self._joints or self._joints[-1].stamp_ns == self._last_ns:
            return None
        return self._give({}, (self._joints[-1],), instruction)

    def _give(self, images: dict[str, Image], states: tuple[JointSample, ...], instruction: str) -> Observation:
        observation = assemble(images, states, instruction)
        self._last_ns = observation.stamp_ns
        self.sources = Sources(
            stamp_ns=observation.stamp_ns,
            images={name: image.stamp_ns for name, image in images.items()},
            joints=tuple(state.stamp_ns for state in states),
        )
        return observation

    def problem(self) -> str:
        """Returns why frames of every camera arrive and none has been used for a second; empty while they are.

        Time is that of the stamps, so a machine that stands still is not a problem.
        """
        newest_ns = min((frames[-1].stamp_ns if frames else 0 for frames in self._images.values()), default=0)
        unused_ns = newest_ns - self._unused_since_ns
        if unused_ns < self._patience_ns or not all(self._images.values()):
            return ""
        what = f"no observation for {unused_ns / 1e9:.1f} s"
        matches = list(self._matches(self._last_ns))
        if close := [_span(images)[0] for images in matches if _spread(images) <= self._skew_ns]:
            return f"{what}: {self._joint_problem(close)}"
        images = min(matches, key=_spread)
        earliest, *_, latest = sorted(images, key=lambda name: images[name].stamp_ns)
        cameras = " and ".join(name for name in self._images if name in (earliest, latest))
        return (
            f"{what}: frames of cameras {cameras} are {_spread(images) / 1e6:.1f} ms apart at best, at most "
            f"{self._skew_ns / 1e6:.1f} ms is used: trigger the cameras together, raise their rates, or allow more "
            "with camera_skew_s in the profile"
        )

    def _matches(self, after_ns: int | None) -> Iterator[dict[str, Image]]:
        """Yields the frames closest in time to each frame of the camera furthest behind that is later than a stamp."""
        if not self._images or not all(self._images.values()):
            return
        behind = min(self._images, key=lambda name: self._images[name][-1].stamp_ns)
        others = {name: frames for name, frames in self._images.items() if name != behind}
        for image in reversed(self._images[behind]):
            if after_ns is not None and image.stamp_ns <= after_ns:
                return
            begins = {frame.stamp_ns for frames in others.values() for frame in frames} | {image.stamp_ns}
            yield min(
                (
                    {behind: image} | {name: _first_from(begin_ns, frames) for name, frames in others.items()}
                    for begin_ns in sorted(begins, reverse=True)
                    if begin_ns <= image.stamp_ns
                ),
                key=_spread,
            )

    def _joint_problem(self, stamps_ns: Sequence[int]) -> str:
        """Returns why there is no joint state at frames, newest first, that would do otherwise."""
        if not self._joints:
            return "no joint state has arrived"
        begin_ns, end_ns = self._joints[0].stamp_ns, self._joints[-1].stamp_ns
        inside = next((stamp_ns for stamp_ns in stamps_ns if begin_ns <= stamp_ns < end_ns), None)
        if inside is None:
            oldest_ns = stamps_ns[-1]
            gap_ns, side = (
                (oldest_ns - end_ns, "earlier") if oldest_ns >= end_ns else (begin_ns - stamps_ns[0], "later")
            )
            return (
                f"joint states are at least {gap_ns / 1e6:.1f} ms {side} than the frames: check that the robot and the "
                "cameras share a clock"
            )
        after = bisect_right(self._joints, inside, key=lambda state: state.stamp_ns)
        gap_ns = self._joints[after].stamp_ns - self._joints[after - 1].stamp_ns
        return (
            f"joint states are {gap_ns / 1e6:.1f} ms apart, at most {self._tolerances.joint_gap_ns / 1e6:.1f} ms is "
            "bridged: raise their rate"
        )

    def _states_at(self, stamp_ns: int) -> tuple[JointSample, ...]:
        """Returns the joint states that give the one at a time; none where they are too far from it."""
        after = bisect_right(self._joints, stamp_ns, key=lambda state: state.stamp_ns)
        if after == 0:
            return ()
        before = self._joints[after - 1]
        if before.stamp_ns == stamp_ns:
            return (before,)
        if after == len(self._joints):
            return (before,) if stamp_ns - before.stamp_ns <= self._tolerances.joint_ahead_ns else ()
        behind = self._joints[after]
        return (before, behind) if behind.stamp_ns - before.stamp_ns <= self._tolerances.joint_gap_ns else ()

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


def _span(images: Mapping[str, Image]) -> tuple[int, int]:
    stamps = [image.stamp_ns for image in images.values()]
    return min(stamps), max(stamps)


def _spread(images: Mapping[str, Image]) -> int:
    begin_ns, end_ns = _span(images)
    return end_ns - begin_ns


def _first_from(begin_ns: int, frames: deque[Image]) -> Image:
    return next(frame for frame in frames if frame.stamp_ns >= begin_ns)

"""An observation is one instant: frames within the tolerance, joints interpolated to the exposure, nothing made up."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tendon.core.errors import InvalidDataError
from tendon.core.types import Image, Observation
from tendon.observation.buffer import ObservationBuffer, Tolerances
from tendon.robots.profile import RobotProfile, load_profile
from tests.laws import law_settings
from tests.robots.calibrated import calibration_file

MS = 10**6
PROFILE = load_profile("panda")
SKEW_MS = 30.0
"""Of two cameras at 20 Hz: half a period and a tenth."""


def frame(camera: str, stamp_ms: float) -> Image:
    size = PROFILE.camera(camera)
    return Image(stamp_ns=round(stamp_ms * MS), pixels=np.zeros((size.height, size.width, 3), np.uint8))


class Feed:
    """A buffer whose now is the stamp of what arrives."""

    def __init__(
        self, profile: RobotProfile = PROFILE, tolerances: Tolerances | None = None, velocity: float | None = None
    ) -> None:
        self.buffer = ObservationBuffer(profile, ["scene", "wrist"], tolerances)
        self.names, self.velocity = profile.joint_names, velocity

    def image(self, camera: str, stamp_ms: float) -> None:
        self.buffer.add_image(camera, frame(camera, stamp_ms), round(stamp_ms * MS))

    def joints(self, stamp_ms: float, value: float = 0.0) -> None:
        velocity = 2 * value if self.velocity is None else self.velocity
        self.buffer.add_joints(round(stamp_ms * MS), self.names, [value] * 8, [velocity] * 8, round(stamp_ms * MS))

    def take(self) -> Observation | None:
        return self.buffer.observation("put")


def test_a_camera_that_stamps_late_is_of_when_it_exposed(tmp_path: Path) -> None:
    """Joints are those of the exposure, and so is the observation's stamp, from which its chunk is placed."""
    feed = Feed(replace(PROFILE, calibration=calibration_file(tmp_path, camera_s=0.04)))
    for stamp_ms in range(90, 160, 10):
        feed.joints(stamp_ms, stamp_ms / 1000)
    feed.image("wrist", 105)
    feed.image("scene", 145)
    seen = feed.take()
    assert seen is not None and seen.stamp_ns == 105 * MS and seen.images["scene"].stamp_ns == 105 * MS
    np.testing.assert_allclose(seen.joint_position, 0.105, atol=1e-9)


@pytest.fixture
def feed() -> Feed:
    return Feed()


class TestAlignment:
    """Which frames and which joint state make one observation."""

    def test_joints_are_interpolated_to_the_earliest_exposure(self, feed: Feed) -> None:
        feed.joints(100, 1.0)
        feed.image("scene", 104)
        feed.image("wrist", 102)
        feed.joints(110, 2.0)
        seen = feed.take()
        assert seen is not None
        assert seen.stamp_ns == 102 * MS
        np.testing.assert_allclose(seen.joint_position, 1.2)
        np.testing.assert_allclose(seen.joint_velocity, 2.4)
        assert seen.instruction == "put"
        assert {name: image.stamp_ns for name, image in seen.images.items()} == {"scene": 104 * MS, "wrist": 102 * MS}

    def test_a_joint_state_at_the_exposure_is_taken_as_it_is(self, feed: Feed) -> None:
        feed.image("scene", 100)
        feed.image("wrist", 100)
        feed.joints(100, 0.5)
        seen = feed.take()
        assert seen is not None
        np.testing.assert_array_equal(seen.joint_position, 0.5)

    def test_frames_further_apart_than_the_tolerance_do_not_mix(self, feed: Feed) -> None:
        feed.joints(90)
        feed.image("scene", 100)
        feed.image("wrist", 131)
        feed.joints(132)
        assert feed.take() is None
        feed.image("scene", 135)
        feed.joints(140)
        seen = feed.take()
        assert seen is not None
        assert seen.stamp_ns == 131 * MS

    def test_the_profile_may_allow_less(self) -> None:
        feed = Feed(replace(PROFILE, camera_skew_s=0.01))
        for now, gap_ms, used in ((100, 11, False), (200, 9, True)):
            feed.joints(now)
            feed.image("scene", now)
            feed.image("wrist", now + gap_ms)
            feed.joints(now + 20)
            assert (feed.take() is not None) is used

    def test_of_three_cameras_the_frames_closest_together_are_taken(self) -> None:
        """Each frame nearest to one camera's would be 45 ms apart here; there are three within 25."""
        cameras = tuple(replace(PROFILE.cameras[0], name=name) for name in ("left", "middle", "right"))
        profile = replace(PROFILE, cameras=cameras)
        buffer = ObservationBuffer(profile, ["left", "middle", "right"])
        pixels = np.zeros((128, 128, 3), np.uint8)
        for stamp, camera in ((80, "right"), (100, "left"), (115, "middle"), (125, "right"), (126, "left")):
            buffer.add_image(camera, Image(stamp_ns=stamp * MS, pixels=pixels), stamp * MS)
        for stamp in (99, 101, 140):
            buffer.add_joints(stamp * MS, profile.joint_names, [0.0] * 8, [0.0] * 8, stamp * MS)
        seen = buffer.observation("put")
        assert seen is not None
        assert {name: image.stamp_ns // MS for name, image in seen.images.items()} == {
            "left": 126,
            "middle": 115,
            "right": 125,
        }

    def test_each_is_returned_once_and_the_newest_first(self, feed: Feed) -> None:
        for stamp in (100, 150, 200):
            feed.joints(stamp)
            feed.image("scene", stamp)
            feed.image("wrist", stamp)
        seen = feed.take()
        assert seen is not None
        assert seen.stamp_ns == 200 * MS
        assert feed.take() is None

    def test_before_the_first_joint_state_and_long_after_the_last_an_older_observation_is_used(
        self, feed: Feed
    ) -> None:
        feed.image("scene", 100)
        feed.image("wrist", 100)
        assert feed.take() is None
        feed.joints(105)
        assert feed.take() is None
        feed.image("scene", 108)
        feed.image("wrist", 108)
        feed.joints(110)
        feed.image("scene", 150)
        feed.image("wrist", 150)
        seen = feed.take()
        assert seen is not None
        assert seen.stamp_ns == 108 * MS

    @pytest.mark.parametrize("ahead_ms", [1, 9, 10])
    def test_a_frame_does_not_wait_for_the_next_joint_state(self, feed: Feed, ahead_ms: int) -> None:
        """The velocity of the newest lasts until then."""
        feed.joints(100, 0.5)
        feed.image("scene", 100 + ahead_ms)
        feed.image("wrist", 100 + ahead_ms)
        seen = feed.take()
        assert seen is not None
        np.testing.assert_allclose(seen.joint_position, 0.5 + ahead_ms * 1e-3 * 1.0, rtol=0, atol=1e-12)
        np.testing.assert_allclose(seen.joint_velocity, 1.0)

    @pytest.mark.parametrize("bound_ms", [0, 5])
    def test_it_waits_beyond_the_bound(self, bound_ms: int) -> None:
        feed = Feed(tolerances=Tolerances(joint_ahead_ns=bound_ms * MS))
        feed.joints(100)
        feed.image("scene", 100 + bound_ms + 1)
        feed.image("wrist", 100 + bound_ms + 1)
        assert feed.take() is None
        feed.joints(110)
        assert feed.take() is not None

    def test_a_gap_in_the_joint_states_is_not_bridged(self, feed: Feed) -> None:
        feed.joints(100)
        feed.image("scene", 120)
        feed.image("wrist", 120)
        feed.joints(151)
        assert feed.take() is None

    def test_one_camera_is_not_enough(self, feed: Feed) -> None:
        feed.joints(100)
        feed.image("scene", 100)
        assert feed.take() is None

    @law_settings(max_examples=60)
    @given(
        st.lists(st.tuples(st.sampled_from(["scene", "wrist", "joints"]), st.integers(1, 30)), max_size=60),
    )
    def test_whatever_arrives_what_is_returned_is_aligned_and_newer(self, events: list[tuple[str, int]]) -> None:
        """A joint that moves at a constant rate is exactly where it was, between joint states and after the last."""
        feed, now, last = Feed(velocity=1.0), 0, -1
        for kind, wait_ms in events:
            now += wait_ms
            if kind == "joints":
                feed.joints(now, now / 1000.0)
            else:
                feed.image(kind, now)
            seen = feed.take()
            if seen is None:
                continue
            stamps = [image.stamp_ns for image in seen.images.values()]
            assert seen.stamp_ns == min(stamps) > last
            assert max(stamps) - min(stamps) <= SKEW_MS * MS
            np.testing.assert_allclose(seen.joint_position, seen.stamp_ns / 1e9, atol=1e-12)
            last = seen.stamp_ns


def run(feed: Feed, seconds: float, **cameras: Sequence[float]) -> tuple[int, list[tuple[float, str]]]:
    """Feeds joint states every 10 ms and each camera's (period, offset) [ms]; returns observations and problems."""
    events = [(float(t), "joints") for t in np.arange(0, 1000 * seconds + 1, 10)]
    for camera, (period, offset) in cameras.items():
        events += [(float(t), camera) for t in np.arange(offset, 1000 * seconds + 1, period)]
    count, problems = 0, []
    for stamp, what in sorted(events):
        if what == "joints":
            feed.joints(stamp)
        else:
            feed.image(what, stamp)
        count += feed.take() is not None
        problems.append((stamp, feed.buffer.problem()))
    return count, problems


class TestFreeRunningCameras:
    """Cameras that nobody triggers together are used, or it is said why not."""

    @pytest.mark.parametrize("offset_ms", [0.0, 3.0, 12.0, 25.0, 38.0, 47.0])
    def test_two_at_20_hz_give_20_observations_a_second_at_any_offset(self, feed: Feed, offset_ms: float) -> None:
        count, problems = run(feed, 3.0, scene=(50, 100), wrist=(50, 100 + offset_ms))
        assert count >= 20 * 2.8
        assert not any(text for _, text in problems)

    @law_settings(max_examples=40)
    @given(st.floats(0, 1), st.floats(0, 1), st.floats(30, 50), st.integers(0, 2**32 - 1))
    def test_jitter_and_another_rate_do_not_starve_the_policy(
        self, first: float, second: float, period_ms: float, seed: int
    ) -> None:
        """Each frame up to a twentieth of a period off: no more than three periods without an observation."""
        feed, random = Feed(), np.random.default_rng(seed)
        events = [(float(t), "joints") for t in np.arange(0, 2000, 10)]
        for camera, period, offset in (("scene", 50.0, first), ("wrist", period_ms, second)):
            times = 50 + (np.arange(int(1900 / period)) + offset + random.uniform(-0.05, 0.05)) * period
            events += [(float(t), camera) for t in times]
        seen_ms = [150.0]
        for stamp, what in sorted(events):
            if what == "joints":
                feed.joints(stamp)
            else:
                feed.image(what, stamp)
            if feed.take() is not None:
                seen_ms.append(stamp)
        assert max(np.diff([*seen_ms, 1900.0])) <= 150.0 + 50.0

    def test_two_that_never_match_are_named_with_the_gap_within_a_second(self) -> None:
        feed = Feed(replace(PROFILE, camera_skew_s=0.01))
        count, problems = run(feed, 1.2, scene=(50, 0), wrist=(50, 25))
        assert count == 0
        first_ms, text = next((stamp, text) for stamp, text in problems if text)
        assert first_ms <= 1050
        assert "cameras scene and wrist are 25.0 ms apart at best, at most 10.0 ms is used" in text
        assert "camera_skew_s in the profile" in text

    def test_slower_than_the_profile_says_is_a_problem_too(self, feed: Feed) -> None:
        """At 5 Hz and 100 ms apart nothing is within the 30 ms that 20 Hz would need."""
        _, problems = run(feed, 2.5, scene=(200, 0), wrist=(200, 100))
        assert "cameras scene and wrist are 100.0 ms apart" in problems[-1][1]

    def test_a_camera_that_comes_back_is_no_problem(self, feed: Feed) -> None:
        run(feed, 1.0, scene=(50, 0), wrist=(50, 0))
        for stamp in (6000, 6050, 6100):
            feed.joints(stamp - 5)
            feed.image("scene", stamp)
            assert not feed.buffer.problem()
            feed.image("wrist", stamp)
            assert not feed.buffer.problem()
            feed.joints(stamp + 5)
            assert feed.take() is not None

    @pytest.mark.parametrize(
        ("joints_ms", "message"),
        [
            (range(0, 1500, 60), "joint states are 60.0 ms apart, at most 50.0 ms"),
            ((), "no joint state has arrived"),
            ((0, 10), "joint states are at least .* ms earlier than the frames"),
        ],
    )
    def test_joint_states_that_do_not_fit_are_named(self, feed: Feed, joints_ms: Iterable[int], message: str) -> None:
        events = [
            *((t, "joints") for t in joints_ms),
            *((t, c) for t in range(25, 1500, 60) for c in ("scene", "wrist")),
        ]
        for stamp, what in sorted(events):
            if what == "joints":
                feed.joints(stamp)
            else:
                feed.image(what, stamp)
            assert feed.take() is None
        assert re.search(message, feed.buffer.problem())


class TestRejects:
    """What does not enter."""

    def test_a_missing_joint_is_named(self, feed: Feed) -> None:
        with pytest.raises(InvalidDataError, match=r"lacks panda_joint1 \(it has: panda_joint2"):
            feed.buffer.add_joints(0, feed.names[1:], [0.0] * 7, [0.0] * 7, 0)

    def test_joints_in_any_order_and_others_beside_them(self, feed: Feed) -> None:
        names = ["wheel", *reversed(feed.names)]
        feed.buffer.add_joints(0, names, list(range(9)), [0.0] * 9, 0)
        feed.image("scene", 0)
        feed.image("wrist", 0)
        seen = feed.take()
        assert seen is not None
        assert seen.joint_position.tolist() == [8, 7, 6, 5, 4, 3, 2, 1]

    def test_a_joint_named_twice(self, feed: Feed) -> None:
        with pytest.raises(InvalidDataError, match="names a joint twice"):
            feed.buffer.add_joints(0, [*feed.names, feed.names[0]], [0.0] * 9, [0.0] * 9, 0)

    @pytest.mark.parametrize(
        ("position", "velocity", "message"),
        [
            ([np.nan] * 8, [0.0] * 8, "position.* must be finite"),
            ([0.0] * 8, [np.inf] * 8, "velocity.* must be finite"),
            ([0.0] * 8, [], "velocity has 0 numbers for 8 joints"),
            ([0.0] * 7, [0.0] * 8, "position has 7 numbers for 8 joints"),
        ],
    )
    def test_values_that_are_missing_or_not_finite(
        self, feed: Feed, position: list[float], velocity: list[float], message: str
    ) -> None:
        with pytest.raises(InvalidDataError, match=message):
            feed.buffer.add_joints(0, feed.names, position, velocity, 0)

    @pytest.mark.parametrize(
        ("stamp_ms", "message"),
        [(500, "repeats"), (499, "comes after"), (299, "201.0 ms old"), (506, "6.0 ms in the future")],
    )
    @pytest.mark.parametrize("kind", ["image", "joints"])
    def test_a_stamp_that_is_stale_early_repeated_or_out_of_order(
        self, feed: Feed, kind: str, stamp_ms: int, message: str
    ) -> None:
        feed.image("scene", 500)
        feed.joints(500)
        with pytest.raises(InvalidDataError, match=message):
            if kind == "image":
                feed.buffer.add_image("scene", frame("scene", stamp_ms), 500 * MS)
            else:
                feed.buffer.add_joints(stamp_ms * MS, feed.names, [0.0] * 8, [0.0] * 8, 500 * MS)

    def test_a_camera_nobody_asked_for(self, feed: Feed) -> None:
        with pytest.raises(InvalidDataError, match="camera spare, expected one of scene, wrist"):
            feed.buffer.add_image("spare", frame("scene", 0), 0)

    def test_an_image_of_another_size(self, feed: Feed) -> None:
        with pytest.raises(InvalidDataError, match="camera wrist gives 128x128 px, the profile has 96x96"):
            feed.buffer.add_image("wrist", frame("scene", 0), 0)
        feed.image("wrist", 0)

    def test_after_a_reset_an_earlier_time_is_fine(self, feed: Feed) -> None:
        feed.joints(1000)
        feed.image("scene", 1000)
        feed.buffer.reset()
        feed.joints(10)
        feed.image("scene", 10)
        feed.image("wrist", 10)
        assert feed.take() is not None


def test_without_cameras_it_is_the_newest_joint_state_once() -> None:
    buffer = ObservationBuffer(PROFILE, ())
    assert buffer.observation("go") is None
    for stamp_ms in (10, 20):
        buffer.add_joints(stamp_ms * MS, PROFILE.joint_names, [stamp_ms] * 8, [0.0] * 8, stamp_ms * MS)
    seen = buffer.observation("go")
    assert seen is not None and seen.stamp_ns == 20 * MS and not seen.images and seen.joint_position[0] == 20.0
    assert buffer.observation("go") is None and buffer.problem() == ""


def test_a_fast_camera_is_kept_as_long_as_the_other_may_be_late() -> None:
    """Eight frames of 60 Hz are 117 ms: beside a camera that is 175 ms late there was never an observation."""
    rates = {"scene": 30.0, "wrist": 60.0}
    cameras = tuple(replace(each, rate_hz=rates.get(each.name, each.rate_hz)) for each in PROFILE.cameras)
    feed = Feed(replace(PROFILE, cameras=cameras))
    arrivals = [(ms + 175.0, "scene", ms) for ms in np.arange(100.0, 1500.0, 1000.0 / 30.0)]
    arrivals += [(ms + 20.0, "wrist", ms) for ms in np.arange(100.0, 1500.0, 1000.0 / 60.0)]
    taken, next_ms = 0, 50.0
    for now_ms, camera, stamp_ms in sorted(arrivals):
        while next_ms < now_ms:
            feed.joints(next_ms)
            next_ms += 10.0
        feed.buffer.add_image(camera, frame(camera, stamp_ms), round(now_ms * MS))
        taken += feed.take() is not None
    assert taken >= 30


def test_what_a_joint_says_that_the_robot_does_not_have_is_nobodys_concern() -> None:
    """The NaN of a passive wheel made the policy blind, while control and monitor took the message."""
    buffer = ObservationBuffer(PROFILE, ["scene", "wrist"])
    names = ["wheel", *PROFILE.joint_names]
    buffer.add_joints(MS, names, [float("nan"), *[0.0] * 8], [float("nan"), *[0.0] * 8], MS)
    for bad in ([float("nan"), *[0.0] * 7], [0.0] * 7):
        with pytest.raises(InvalidDataError, match="position"):
            buffer.add_joints(2 * MS, PROFILE.joint_names, bad, [0.0] * 8, 2 * MS)

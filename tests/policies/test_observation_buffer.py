"""An observation is one instant: frames within the tolerance, joints interpolated to the exposure, nothing made up."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tendon.core.errors import InvalidDataError
from tendon.core.profile import RobotProfile, load_profile
from tendon.core.types import Image, Observation
from tendon.policies.observation_buffer import ObservationBuffer, Tolerances

MS = 10**6
PROFILE = load_profile("panda")


def frame(camera: str, stamp_ms: float) -> Image:
    size = PROFILE.camera(camera)
    return Image(stamp_ns=round(stamp_ms * MS), pixels=np.zeros((size.height, size.width, 3), np.uint8))


class Feed:
    """A buffer whose now is the stamp of what arrives."""

    def __init__(self, profile: RobotProfile = PROFILE) -> None:
        self.buffer = ObservationBuffer(profile, ["scene", "wrist"])
        self.names = profile.joint_names

    def image(self, camera: str, stamp_ms: float) -> None:
        self.buffer.add_image(camera, frame(camera, stamp_ms), round(stamp_ms * MS))

    def joints(self, stamp_ms: float, value: float = 0.0) -> None:
        self.buffer.add_joints(round(stamp_ms * MS), self.names, [value] * 8, [2 * value] * 8, round(stamp_ms * MS))

    def take(self) -> Observation | None:
        return self.buffer.observation("put")


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
        feed.image("wrist", 111)
        feed.joints(120)
        assert feed.take() is None
        feed.image("scene", 115)
        feed.joints(130)
        seen = feed.take()
        assert seen is not None
        assert seen.stamp_ns == 111 * MS

    def test_each_is_returned_once_and_the_newest_first(self, feed: Feed) -> None:
        for stamp in (100, 150, 200):
            feed.joints(stamp)
            feed.image("scene", stamp)
            feed.image("wrist", stamp)
        seen = feed.take()
        assert seen is not None
        assert seen.stamp_ns == 200 * MS
        assert feed.take() is None

    def test_joints_are_never_extrapolated(self, feed: Feed) -> None:
        """Before the first and after the last joint state there is no observation, an older complete one is used."""
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

    @settings(max_examples=60, deadline=None)
    @given(
        st.lists(st.tuples(st.sampled_from(["scene", "wrist", "joints"]), st.integers(1, 30)), max_size=60),
    )
    def test_whatever_arrives_what_is_returned_is_aligned_and_newer(self, events: list[tuple[str, int]]) -> None:
        """For a joint that moves at a constant rate the interpolation is exact."""
        feed, now, last = Feed(), 0, -1
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
            assert max(stamps) - min(stamps) <= Tolerances().skew_ns
            np.testing.assert_allclose(seen.joint_position, seen.stamp_ns / 1e9, atol=1e-12)
            last = seen.stamp_ns


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
            ([0.0] * 8, [], r"velocity has shape \(0,\), expected 8"),
            ([0.0] * 7, [0.0] * 8, r"position has shape \(7,\), expected 8"),
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

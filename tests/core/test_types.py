"""The frozen types: copied on entry, read-only, checked on construction."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tendon.core.errors import InvalidDataError, TendonError
from tendon.core.types import ActionChunk, Command, Image, Observation, Trajectory, freeze

FINITE = st.floats(-1e6, 1e6)
SHAPE = st.tuples(st.integers(1, 6), st.integers(1, 8))
MATRIX = hnp.arrays(np.float64, SHAPE, elements=FINITE)


def chunk(actions: object, step_ns: int = 10**8) -> ActionChunk:
    return ActionChunk(actions=actions, start_ns=1000, step_ns=step_ns, observation_stamp_ns=900)  # type: ignore[arg-type]


def trajectory(position: object, velocity: object, times: tuple[int, ...]) -> Trajectory:
    rows = np.asarray(position, dtype=float)
    return Trajectory(
        position=rows, velocity=np.asarray(velocity), acceleration=np.zeros_like(rows), time_from_start_ns=times
    )


@given(MATRIX)
def test_freeze_copies_and_locks(value: np.ndarray) -> None:
    """What the caller does to its array afterwards does not reach the frozen one, and nobody can write to that."""
    before = value.copy()
    frozen = freeze("actions", value, (None, None))
    value += 1.0
    np.testing.assert_array_equal(frozen, before)
    assert frozen.dtype == np.float64
    with pytest.raises(ValueError, match="read-only"):
        frozen[0, 0] = 1.0


@given(MATRIX, st.data())
def test_a_value_that_is_not_finite_is_rejected_with_its_index(value: np.ndarray, data: st.DataObject) -> None:
    """The message names the array, the index of the first bad value, and the value."""
    row = data.draw(st.integers(0, value.shape[0] - 1))
    column = data.draw(st.integers(0, value.shape[1] - 1))
    bad = data.draw(st.sampled_from([np.nan, np.inf, -np.inf]))
    value[row, column] = bad
    with pytest.raises(InvalidDataError) as caught:
        chunk(value)
    assert f"actions[{row}, {column}] is {bad}" in str(caught.value)


@pytest.mark.parametrize("shape", [(), (3,), (2, 3, 4)])
def test_a_wrong_shape_names_both_shapes(shape: tuple[int, ...]) -> None:
    """The message holds what came and what was expected."""
    with pytest.raises(InvalidDataError) as caught:
        chunk(np.zeros(shape))
    assert str(caught.value) == f"actions has shape {shape}, expected anyxany"


def test_invalid_data_is_a_tendon_error_and_a_value_error() -> None:
    """One root for ours, and the builtin that fits."""
    assert issubclass(InvalidDataError, TendonError)
    assert issubclass(InvalidDataError, ValueError)


class TestImage:
    def test_a_writable_array_is_copied(self) -> None:
        pixels = np.zeros((4, 5, 3), np.uint8)
        image = Image(stamp_ns=1, pixels=pixels)
        pixels[:] = 255
        assert image.pixels.max() == 0
        assert not image.pixels.flags.writeable

    def test_a_read_only_array_is_kept(self) -> None:
        pixels = np.zeros((4, 5, 3), np.uint8)
        pixels.setflags(write=False)
        assert Image(stamp_ns=1, pixels=pixels).pixels is pixels

    @pytest.mark.parametrize(
        "pixels",
        [np.zeros((4, 5, 3)), np.zeros((4, 5), np.uint8), np.zeros((4, 5, 4), np.uint8), np.zeros((3, 4, 5), np.uint8)],
        ids=["float", "grey", "rgba", "channels first"],
    )
    def test_anything_but_rgb_bytes_is_rejected(self, pixels: np.ndarray) -> None:
        with pytest.raises(InvalidDataError, match="expected uint8"):
            Image(stamp_ns=1, pixels=pixels)


class TestObservation:
    @given(hnp.arrays(np.float64, st.integers(1, 30), elements=FINITE))
    def test_joint_vectors_are_copied_and_read_only(self, joints: np.ndarray) -> None:
        observation = Observation(stamp_ns=1, joint_position=joints, joint_velocity=joints)
        before = joints.copy()
        joints += 1.0
        np.testing.assert_array_equal(observation.joint_position, before)
        np.testing.assert_array_equal(observation.joint_velocity, before)
        assert not observation.joint_position.flags.writeable
        assert not observation.joint_velocity.flags.writeable

    def test_velocity_must_be_as_long_as_position(self) -> None:
        with pytest.raises(InvalidDataError, match=r"joint_velocity has shape \(6,\), expected 7"):
            Observation(stamp_ns=1, joint_position=np.zeros(7), joint_velocity=np.zeros(6))

    def test_the_image_mapping_is_copied(self) -> None:
        images = {"scene": Image(stamp_ns=1, pixels=np.zeros((2, 2, 3), np.uint8))}
        observation = Observation(stamp_ns=1, joint_position=np.zeros(2), joint_velocity=np.zeros(2), images=images)
        images.clear()
        assert list(observation.images) == ["scene"]


class TestActionChunk:
    @given(MATRIX, st.integers(2_000_000, 10**9))
    def test_end_is_when_the_last_row_is_due(self, actions: np.ndarray, step_ns: int) -> None:
        made = chunk(actions, step_ns)
        assert made.end_ns == made.start_ns + (len(actions) - 1) * step_ns

    def test_no_rows_is_rejected(self) -> None:
        with pytest.raises(InvalidDataError, match="no rows"):
            chunk(np.zeros((0, 8)))

    @pytest.mark.parametrize("step_ns", [0, -1, 1000])
    def test_time_must_pass_between_rows(self, step_ns: int) -> None:
        with pytest.raises(InvalidDataError, match="must be at least 2000000"):
            chunk(np.zeros((2, 8)), step_ns)

    def test_fields_cannot_be_replaced(self) -> None:
        with pytest.raises(AttributeError):
            chunk(np.zeros((2, 8))).start_ns = 3  # type: ignore[misc]


class TestTrajectory:
    @given(st.lists(st.integers(-(10**9), 10**9), min_size=1, max_size=6))
    def test_times_are_accepted_exactly_when_they_increase(self, times: list[int]) -> None:
        rows = np.zeros((len(times), 2))
        if sorted(set(times)) == times:
            assert trajectory(rows, rows, tuple(times)).time_from_start_ns == tuple(times)
        else:
            with pytest.raises(InvalidDataError, match="strictly increasing"):
                trajectory(rows, rows, tuple(times))

    def test_each_point_needs_a_time(self) -> None:
        with pytest.raises(InvalidDataError, match="2 times for 3 points"):
            trajectory(np.zeros((3, 2)), np.zeros((3, 2)), (1, 2))

    def test_no_points_is_rejected(self) -> None:
        with pytest.raises(InvalidDataError, match="at least one"):
            trajectory(np.zeros((0, 2)), np.zeros((0, 2)), ())


class TestCommand:
    @given(st.floats(-3, 3).filter(bool))
    def test_a_command_that_does_not_end_at_rest_cannot_be_made(self, speed: float) -> None:
        moving = trajectory(np.zeros((2, 1)), [[0.0], [speed]], (1, 2))
        with pytest.raises(InvalidDataError, match="must end at rest"):
            Command(stamp_ns=1, trajectory=moving)

    def test_one_that_ends_at_rest_can(self) -> None:
        resting = trajectory(np.zeros((2, 1)), [[1.0], [0.0]], (1, 2))
        assert Command(stamp_ns=1, trajectory=resting).reasons == ()

"""The robot side: what it rejects, and that it plays, replaces and holds like joint_trajectory_controller."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from tendon.core.errors import InvalidDataError, MismatchError
from tendon.core.types import SentTrajectory
from tendon.robots.trajectory_controller import TrajectoryController

MS = 1_000_000
NAMES = ("a", "b")
TIMES = (10 * MS, 20 * MS)
REST = [[0.1, 0.2], [0.3, 0.4]], [[1.0, 1.0], [0.0, 0.0]]


def sent(
    names: tuple[str, ...], times_ns: Sequence[int], position: object, velocity: object, stamp_ns: int = 0
) -> SentTrajectory:
    rows = [np.array(values, dtype=np.float64) for values in (position, velocity)]
    return SentTrajectory(stamp_ns=stamp_ns, joint_names=names, times_ns=times_ns, position=rows[0], velocity=rows[1])


@pytest.fixture
def controller() -> TrajectoryController:
    return TrajectoryController(NAMES, [0.0, 0.0])


@pytest.mark.parametrize("names", [("a",), ("a", "c"), ("a", "b", "c"), ("a", "a")])
def test_other_joints_are_rejected(controller: TrajectoryController, names: tuple[str, ...]) -> None:
    with pytest.raises(MismatchError, match="expected"):
        controller.accept(sent(names, TIMES, *REST), MS)


@pytest.mark.parametrize(
    ("times", "position", "velocity", "stamp_ns", "says"),
    [
        ((), [], [], 0, "at least one point"),
        (TIMES, [[0.0], [0.0]], [[0.0], [0.0]], 0, "2 joints"),
        ((10 * MS, 10 * MS), *REST, 0, "strictly increasing"),
        ((20 * MS, 10 * MS), *REST, 0, "strictly increasing"),
        (TIMES, *REST, 900 * MS, "80.0 ms in the past"),
        (TIMES, REST[0], [[0.0, 0.0], [0.0, 0.1]], 1000 * MS, "end at rest"),
    ],
)
def test_what_ros2_control_rejects_is_rejected_and_the_running_trajectory_goes_on(
    controller: TrajectoryController,
    times: tuple[int, ...],
    position: object,
    velocity: object,
    stamp_ns: int,
    says: str,
) -> None:
    controller.accept(sent(NAMES, TIMES, *REST, 995 * MS), 995 * MS)
    before = controller.sample(1010 * MS)
    with pytest.raises(InvalidDataError, match=says):
        controller.accept(sent(NAMES, times, position, velocity, stamp_ns), 1000 * MS)
    assert np.array_equal(controller.sample(1010 * MS), before)


def test_nan_is_not_looked_for(controller: TrajectoryController) -> None:
    controller.accept(sent(NAMES, (10 * MS,), [[np.nan, 0.0]], [[0.0, 0.0]]), MS)
    assert np.isnan(controller.sample(20 * MS)[0][0])


def test_holds_before_the_first_and_after_the_last_point(controller: TrajectoryController) -> None:
    assert np.array_equal(controller.sample(5), ([0.0, 0.0], [0.0, 0.0]))
    controller.accept(sent(NAMES, TIMES, *REST, 100 * MS), 100 * MS)
    assert np.array_equal(controller.sample(10**12), ([0.3, 0.4], [0.0, 0.0]))


def test_passes_through_its_points_and_joints_may_come_in_another_order(controller: TrajectoryController) -> None:
    controller.accept(sent(("b", "a"), TIMES, *REST), 100 * MS)
    position, velocity = controller.sample(110 * MS)
    assert np.allclose(position, [0.2, 0.1]) and np.allclose(velocity, [1.0, 1.0])


def test_a_constant_acceleration_is_played_exactly_and_replaced_without_a_jump(
    controller: TrajectoryController,
) -> None:
    times = [k * 10 * MS for k in range(1, 6)]
    seconds = np.array(times) * 1e-9
    position, velocity = np.outer(2.0 * seconds**2, [1, -1]), np.outer(4.0 * seconds, [1, -1])
    position, velocity = np.vstack([position, position[-1]]), np.vstack([velocity, [0, 0]])
    controller.accept(sent(NAMES, [*times, 60 * MS], position, velocity, 1), 1)
    for arrival_ns in (13 * MS, 27 * MS):
        later = sent(NAMES, [30 * MS, 40 * MS, 60 * MS], position[[2, 3, 5]], velocity[[2, 3, 5]], 1)
        controller.accept(later, arrival_ns)
        for at_ns in range(arrival_ns, 40 * MS, MS):
            sampled, rate = controller.sample(at_ns)
            assert np.allclose(sampled[0], 2.0 * ((at_ns - 1) * 1e-9) ** 2, atol=1e-12)
            assert np.allclose(rate[1], -4.0 * (at_ns - 1) * 1e-9, atol=1e-12)

"""The picture of steering, where every scene was done, none, or only one was run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from studies.steering import Result, draw, slope

from tendon.evaluation.statistics import wilson


def results(values: Sequence[float], seeds: int, success: bool) -> dict[float, list[Result]]:
    return {
        value: [
            Result(
                seed=seed,
                value=value,
                family="pick",
                success=success,
                duration_s=3.0,
                mean_speed=0.2 + 0.05 * value + 0.01 * seed,
                peak_speed=0.7,
                peak_acceleration=1.0,
                stop="",
            )
            for seed in range(seeds)
        ]
        for value in values
    }


@pytest.mark.parametrize("success", [True, False])
@pytest.mark.parametrize("seeds", [1, 2, 6, 32])
def test_all_done_or_none_is_drawn(tmp_path: Path, success: bool, seeds: int) -> None:
    """It ended with a traceback: an error bar had a negative length."""
    draw(results((-1.0, 0.0, 1.0), seeds, success), "speed", tmp_path / "speed.png")
    assert (tmp_path / "speed.png").stat().st_size > 0


def test_one_value_has_no_slope() -> None:
    """Nothing to compare is said as such, not divided by zero."""
    assert slope(results((0.0,), 4, True)[0.0]) is None
    by_value = results((0.0, 1.0), 4, True)
    middle, low, high = slope([*by_value[0.0], *by_value[1.0]]) or (0.0, 0.0, 0.0)
    assert 0.0 < low <= middle <= high


def test_a_rate_lies_inside_its_interval() -> None:
    """For every count up to 300, the ends too, where rounding puts the end of the interval beside the rate."""
    for total in range(1, 301):
        for successes in {0, 1, total // 2, total - 1, total}:
            found = wilson(successes, total)
            assert 0.0 <= found.lower <= found.rate <= found.upper <= 1.0

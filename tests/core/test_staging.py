"""A bundle appears whole or not at all, of one run at a time, whatever became of the one before."""

from __future__ import annotations

from pathlib import Path

import pytest

from tendon.core.errors import ConfigError
from tendon.core.staging import staged


def test_the_second_of_two_runs_learns_it_before_its_work(tmp_path: Path) -> None:
    with staged(tmp_path / "mine") as staging:
        (staging / "model.onnx").touch()
        with pytest.raises(ConfigError, match=r"mine is being written by another run"), staged(tmp_path / "mine"):
            pass
    assert [each.name for each in tmp_path.rglob("*")] == ["mine", "model.onnx"]


def test_what_a_killed_run_left_does_not_get_into_the_next_one(tmp_path: Path) -> None:
    with staged(tmp_path / "mine") as staging:
        name = staging.name
    (tmp_path / "mine").rmdir()
    (tmp_path / name / "sub").mkdir(parents=True)
    (tmp_path / name / "cut.onnx").touch()
    with staged(tmp_path / "mine") as staging:
        assert not list(staging.iterdir())
    assert not list((tmp_path / "mine").iterdir()) and not (tmp_path / name).exists()


@pytest.mark.parametrize("raised", [OSError("no room"), ValueError("not a model"), KeyboardInterrupt()])
def test_nothing_is_left_of_a_run_that_failed(tmp_path: Path, raised: BaseException) -> None:
    with (
        pytest.raises(ConfigError if isinstance(raised, OSError) else type(raised)),
        staged(tmp_path / "mine") as staging,
    ):
        (staging / "model.onnx").touch()
        raise raised
    assert not list(tmp_path.iterdir())

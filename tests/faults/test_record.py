"""A run of the fault matrix that was interrupted goes on, and only one that is the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from tendon.evaluation.limits import Worst
from tests.faults.record import Record
from tests.faults.trial import Trial

RUN: dict[str, object] = {"commit": "abc", "seed": 0}
TRIAL = Trial(
    reaction_s=0.1, worst=Worst(broken=0, position=0.0, velocity=0.5, acceleration=0.9, jerk=0.1), details={"k": 1}
)


@pytest.mark.parametrize("cut", [0, 1, 40])
def test_it_goes_on_where_it_was_and_leaves_out_a_line_that_was_cut_off(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "a" / "run.jsonl"
    record = Record(path, RUN, 3, resume=False)
    assert record.add("x", TRIAL).startswith("1/3")
    record.add("y", TRIAL)
    text = path.read_text()
    path.write_text(text[: len(text) - cut])
    again = Record(path, RUN, 3, resume=True)
    expected = [("x", TRIAL), ("y", TRIAL)][: 2 if not cut else 1]
    assert again.all == expected
    again.add("z", TRIAL)
    assert [name for name, _ in Record(path, RUN, 3, resume=True).all] == [*(name for name, _ in expected), "z"]


def test_another_run_is_refused_and_without_resume_it_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    Record(path, RUN, 1, resume=True).add("x", TRIAL)
    with pytest.raises(SystemExit, match=r"commit 'abc', now 'def'.*run without it"):
        Record(path, RUN | {"commit": "def"}, 1, resume=True)
    assert Record(path, RUN, 1, resume=False).all == []

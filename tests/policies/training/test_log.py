"""The log of a training run: lines, curves and TensorBoard's events."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PIL import Image

pytest.importorskip("torch")

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from tendon.policies.training.log import CURVES_FILE, EVENTS_FOLDER, LOG_FILE, TrainingLog


def rows_of(folder: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (folder / LOG_FILE).read_text().splitlines()]


def test_a_run_that_goes_on_goes_on_with_its_log(tmp_path: Path) -> None:
    """TensorBoard itself reads both sessions as one; a line that was cut is taken away, and later numbers are drawn."""
    with TrainingLog(tmp_path, "steps") as log:
        log.add({"steps": 100, "loss": 0.5})
    with (tmp_path / LOG_FILE).open("a") as file:
        file.write('{"steps": 150, "lo')
    with TrainingLog(tmp_path, "steps") as log:
        log.add({"steps": 200, "loss": 0.25, "success": 0.75})
    assert rows_of(tmp_path) == [{"steps": 100, "loss": 0.5}, {"steps": 200, "loss": 0.25, "success": 0.75}]
    events = EventAccumulator(str(tmp_path / EVENTS_FOLDER)).Reload()
    assert set(events.Tags()["scalars"]) == {"loss", "success"}
    assert [(each.step, each.value) for each in events.Scalars("loss")] == [(100, 0.5), (200, 0.25)]
    with Image.open(tmp_path / CURVES_FILE) as picture:
        assert picture.width > 800
        assert len(picture.convert("L").getcolors() or ()) > 10


def test_steps_that_are_done_again_are_told_once(tmp_path: Path) -> None:
    """A run that was killed goes on from where it was saved; what it had logged since came twice."""
    with TrainingLog(tmp_path, "step", 0) as log:
        for step in (50, 100, 150):
            log.add({"step": step, "loss": step / 100})
    with TrainingLog(tmp_path, "step", 100) as log:
        log.add({"step": 150, "loss": 9.0})
    assert [(row["step"], row["loss"]) for row in rows_of(tmp_path)] == [(50, 0.5), (100, 1.0), (150, 9.0)]
    events = EventAccumulator(str(tmp_path / EVENTS_FOLDER)).Reload()
    assert [(each.step, each.value) for each in events.Scalars("loss")] == [(50, 0.5), (100, 1.0), (150, 9.0)]


def test_a_run_that_is_interrupted_is_drawn_all_the_same(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), TrainingLog(tmp_path, "step") as log:
        log.add({"step": 50, "loss": 1.0})
        raise KeyboardInterrupt
    assert (tmp_path / CURVES_FILE).is_file()


def test_a_run_without_a_row_has_no_picture(tmp_path: Path) -> None:
    with TrainingLog(tmp_path, "step"):
        pass
    assert not (tmp_path / CURVES_FILE).exists()

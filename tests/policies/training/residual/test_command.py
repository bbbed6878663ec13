"""`tendon residual train` tries no scene that residuals are judged on."""

from __future__ import annotations

from pathlib import Path

import pytest

from tendon.cli import main
from tendon.cli.root import EXIT_ERROR


@pytest.mark.parametrize("scenes", ["-1", "100000", "200000"])
def test_scenes_to_evaluate_on_are_refused(scenes: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["residual", "train", "tabletop", "--out", str(tmp_path / "run"), "--scenes", scenes]) == EXIT_ERROR
    said = capsys.readouterr().err
    assert f"--scenes is {scenes}, must be 0 to 99999" in said and said.count("\n") == 1
    assert not (tmp_path / "run").exists()


def test_a_suite_is_improved_or_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["residual", "train", "tabletop", "--out", str(tmp_path / "run"), "--suite", "tabletop"]
    assert main([*command, "--keep", "tabletop"]) == EXIT_ERROR
    said = capsys.readouterr().err
    assert "suite tabletop is to be improved (--suite) and left as it is (--keep)" in said and said.count("\n") == 1
    assert main([*command, "--keep", "nowhere"]) == EXIT_ERROR
    assert "nowhere" in capsys.readouterr().err and not (tmp_path / "run").exists()

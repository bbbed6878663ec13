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


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--minutes", "nan"], "--minutes is nan, must be a finite number at least 0"),
        (["--minutes", "inf"], "--minutes is inf, must be a finite number"),
        (["--minutes=-5"], "--minutes is -5.0, must be a finite number at least 0"),
        (["--seed", "99999999999999999999999"], "must be less than or equal to 4294967295"),
        (
            ["--steps", "400", "--prefill", "400"],
            "must be at least 1 and less than --steps, which is 400",
        ),
        (["--steps", "400", "--prefill", "0"], "--prefill is 0"),
    ],
)
def test_numbers_that_have_no_meaning_are_refused_before_any_work(
    options: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["residual", "train", "tabletop", "--out", str(tmp_path / "run"), *options]) == EXIT_ERROR
    told = capsys.readouterr().err
    assert said in told and told.count("\n") == 1
    assert not (tmp_path / "run").exists()

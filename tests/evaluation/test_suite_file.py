"""Suites of files: what a good one changes, and that a bad one is one clear error before anything is run."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tendon.cli import main
from tendon.cli.eval_options import TimingName, Trials, trials
from tendon.core.errors import ConfigError
from tendon.evaluation.contender import Contender
from tendon.evaluation.suite_file import read_suite_file
from tendon.evaluation.suites import load_suite
from tendon.robots.profile import load_profile
from tests.laws import law_settings

GOOD = {
    "suite": "tabletop",
    "timing": "overwrite",
    "delay_s": 0.2,
    "perturbations": {"dynamics": 0.5},
    "cases": [{"seed": 200_004, "perturbations": {"pose": 1.0}}, {"seed": 200_001, "found": "stopped"}],
}


def written(folder: Path, content: object) -> Path:
    file = folder / "suite.yaml"
    file.write_text(content if isinstance(content, str) else yaml.safe_dump(content, sort_keys=False))
    return file


def asked(file: Path, **options: object) -> Trials:
    given_ = {"seeds": None, "timing": None, "delay_ms": None, "robot": "panda", "simulator": "auto", "perturb": ""}
    return trials(suite=str(file), **{**given_, **options})  # type: ignore[arg-type]


def test_its_cases_are_run_as_it_says_and_options_count_before_it(tmp_path: Path) -> None:
    file = written(tmp_path, GOOD)
    made = asked(file)
    assert list(made.scenes) == [200_004, 200_001] and made.delay_ms == 200 and made.timing is TimingName.OVERWRITE
    jobs = made.jobs(Contender(bundle="expert", digest="expert"))
    assert [dict(job.setting.perturbations) for job in jobs] == [{"pose": 1.0}, {}]
    assert load_suite(jobs[0].suite).difficulty.perturbations == {"dynamics": 0.5}
    other = asked(file, seeds="200000:200002", timing=TimingName.SYNCHRONOUS, delay_ms=50.0, perturb="pose=2")
    assert list(other.scenes) == [200_000, 200_001] and other.delay_ms == 50
    assert all(
        dict(job.setting.perturbations) == {"pose": 2.0} for job in other.jobs(Contender(bundle="expert", digest=""))
    )
    assert "2 scenes" in str(made) and "perturbations of its own" in str(made)
    plain = written(tmp_path, {"suite": "tabletop", "cases": [{"seed": 200_001}, {"seed": 200_005}]})
    assert "perturbations" not in str(asked(plain))


def test_what_it_leaves_out_is_that_of_the_suite_it_names(tmp_path: Path) -> None:
    hard = load_suite("tabletop_hard").difficulty
    made = load_suite(str(written(tmp_path, {"suite": "tabletop_hard", "perturbations": {"dynamics": 0.0}})))
    assert (made.difficulty.arm, made.difficulty.delay_s) == (hard.arm, hard.delay_s)
    assert made.difficulty.perturbations == {**hard.perturbations, "dynamics": 0.0}


def test_of_the_families_it_names_each_has_its_share_and_the_scenes_it_had(tmp_path: Path) -> None:
    profile, whole = load_profile("panda"), load_suite("tabletop")
    drawers = load_suite(str(written(tmp_path, {"suite": "tabletop", "families": ["drawer"]})))
    assert drawers.families == ("drawer",)
    assert {drawers.scene(profile, seed).task.family for seed in range(6)} == {"drawer"}
    assert drawers.scene(profile, 200_003) == whole.scene(profile, 200_003) != drawers.scene(profile, 200_004)
    two = load_suite(str(written(tmp_path, {**GOOD, "families": ["stack", "pick"]})))
    assert [two.scene(profile, seed).task.family for seed in range(200_000, 200_004)] == ["stack", "pick"] * 2
    assert two.scene(profile, 200_000, "push").task.family == "push"
    assert two.difficulty.perturbations == {"dynamics": 0.5}


def test_a_family_that_the_robot_cannot_have_is_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(tmp_path, {"suite": "tabletop", "families": ["drawer"]})
    assert main(["eval", "run", "expert", "--robot", "so101", "--suite", str(file)]) == 2
    said = capsys.readouterr().err
    assert "unknown task family drawer; known: pick, put_in, put_by, stack" in said and said.count("\n") == 1


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"suite": "tabeltop"}, "did you mean tabletop"),
        ({"suite": "other.yaml"}, "not another file"),
        ({"suite": 3}, "suite"),
        ({"suite": None}, "suite"),
        ({"arm": "left"}, "arm is 'left'"),
        ({"arm": -1}, "arm is -1"),
        ({"cases": [{"seed": 200_001, "found": 3}]}, "must be text"),
        ({"episodes": 200_000, "cases": []}, "in quotes"),
        ({"timing": "sometimes"}, "timing"),
        ({"delay_s": -1.0}, "delay_s"),
        ({"delay_s": "soon"}, "delay_s"),
        ({"perturbations": {"dynamcs": 1.0}}, "did you mean dynamics"),
        ({"perturbations": {"dynamics": 3.5}}, "perturbation dynamics: strength is 3.5"),
        ({"perturbations": {"dynamics": "much"}}, "dynamics"),
        ({"perturbations": ["dynamics"]}, "perturbations"),
        ({"cases": [{"seed": 5}]}, "seed"),
        ({"cases": [{"seed": 300_000}]}, "seed"),
        ({"cases": [{"perturbations": {}}]}, "seed"),
        ({"cases": [{"seed": 200_001}, {"seed": 200_001}]}, "seed 200001 has two cases"),
        ({"cases": [{"seed": 200_001, "perturbations": {"gravity": 1.0}}]}, "perturbation is 'gravity'"),
        ({"cases": [{"seed": 200_001, "perturbations": {"pose": -1.0}}]}, "strength is -1"),
        ({"cases": {"seed": 200_001}}, "must be a list"),
        ({"episodes": "200000:200004"}, "not both"),
        ({"episodes": "1:2", "cases": []}, "episodes of the suite's file is 1:2"),
        ({"episodes": "many", "cases": []}, "episodes of the suite's file is many"),
        ({"familes": ["pick"]}, "unknown key familes"),
        ({"families": ["drawers"]}, "did you mean drawer"),
        ({"families": "drawer"}, "families"),
        ({"families": [3]}, "families"),
    ],
)
def test_what_has_no_meaning_is_said_in_a_line_and_nothing_is_run(
    change: dict[str, object], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(tmp_path, {**GOOD, **change})
    with pytest.raises(ConfigError, match=said):
        asked(file)
    assert main(["eval", "run", "expert", "--suite", str(file), "--out", str(tmp_path / "found.json")]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and "Traceback" not in error
    assert not (tmp_path / "found.json").exists()


@law_settings(max_examples=60)
@given(st.one_of(st.text(max_size=40), st.binary(max_size=30).map(lambda data: data.decode("latin-1"))))
def test_any_text_is_a_suite_or_a_config_error(text: str) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "suite.yaml"
        file.write_text(text, encoding="utf-8", errors="replace")
        with pytest.raises(ConfigError):
            read_suite_file(file)


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no suite at"):
        asked(tmp_path / "none.yaml")


@pytest.mark.parametrize("text", ["blur=1,blur=2", "blur,pose, blur", "joint zero,joint_zero=2"])
def test_a_perturbation_has_one_strength(text: str) -> None:
    with pytest.raises(ConfigError, match=r"--perturb is '.*': it has (blur|joint_zero) twice, give each one strength"):
        asked(Path("tabletop"), perturb=text)

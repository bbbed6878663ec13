"""`tendon.evaluate`: the same episodes in this process as in several, and clear errors before any of them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

import tendon
from tendon.core.errors import ConfigError
from tendon.core.paths import share_folder

SCENES = [100_004, 100_002]


def test_processes_make_no_difference() -> None:
    here = tendon.evaluate("tabletop", SCENES)
    assert here.episodes == tendon.evaluate("tabletop", SCENES, workers=2).episodes
    assert [episode.seed for episode in here.episodes] == SCENES
    assert here.success.total == 2
    assert "95 % Wilson" in str(here)


def test_a_residual_corrects_here_and_in_processes_alike() -> None:
    corrected = f"tabletop+{share_folder() / 'bundles' / 'residuals' / 'tabletop'}"
    here = tendon.evaluate(corrected, SCENES[:1])
    assert here.episodes == tendon.evaluate(corrected, SCENES[:1], workers=2).episodes
    assert here.episodes != tendon.evaluate("tabletop", SCENES[:1]).episodes


def test_a_suites_file_says_its_timing_and_its_own_cases_are_for_the_command(tmp_path: Path) -> None:
    """They were run without what was found to be hard in them, and looked solved."""
    file = tmp_path / "hard.yaml"
    file.write_text("suite: tabletop\ntiming: synchronous\n")
    assert (
        tendon.evaluate("tabletop", SCENES[:1], suite=str(file)).episodes
        == tendon.evaluate("tabletop", SCENES[:1], timing="synchronous").episodes
    )
    file.write_text("suite: tabletop\ncases: [{seed: 200001, perturbations: {pose: 1.0}}]\n")
    with pytest.raises(ConfigError, match=r"hard\.yaml has cases of its own: run them by `tendon eval run --suite"):
        tendon.evaluate("tabletop", SCENES[:1], suite=str(file))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"policy": "tabeltop"}, "no policy bundle"),
        ({"seeds": []}, "seeds is empty"),
        ({"seeds": [100_000, 99_999]}, "seed 99999 is no scene to evaluate on: take 100000 to 299999"),
        ({"seeds": [300_000]}, "seed 300000"),
        ({"seeds": [100_003.5]}, "seed is 100003.5, must be a whole number"),
        ({"seeds": [True]}, "seed is True, must be a whole number"),
        ({"seeds": 100_004}, r"seeds is 100004, a single number: put it into a list, such as .100004."),
        ({"seeds": [100_004] * 4}, "seed 100004 is there twice: a scene has one outcome, name each once"),
        ({"policy": "tabletop+"}, r"tabletop\+ names no residual"),
        ({"policy": "tabletop+nowhere"}, "no residual at .*nowhere"),
        ({"policy": "tabletop", "robot": "so101"}, "bundle tabletop: robot is panda, expected so101"),
        ({"delay_s": 1e6}, "delay_s is 1000000.0, must be a finite number at least 0 and at most 10"),
        ({"timing": "inpaintin"}, "did you mean inpainting"),
        ({"delay_s": -0.1}, "delay_s is -0.1"),
        ({"delay_s": math.nan}, "delay_s is nan"),
        ({"workers": 0}, "workers is 0"),
        ({"robot": "pandaa"}, "did you mean panda"),
        ({"simulator": "mujocu"}, "did you mean mujoco"),
    ],
)
def test_what_cannot_be_evaluated_is_said(changes: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {"policy": "tabletop", "seeds": SCENES, **changes}
    with pytest.raises(tendon.ConfigError, match=message):
        tendon.evaluate(**arguments)


def test_in_another_simulator_the_same_scene_goes_another_way_and_the_same_every_time() -> None:
    """The same seed and words; contacts and light differ."""
    scene = [100_004]
    try:
        found = tendon.evaluate("tabletop", scene, simulator="mujoco")
    except tendon.MissingDependencyError as error:
        pytest.skip(str(error))
    (there,), (here,) = found.episodes, tendon.evaluate("tabletop", scene, simulator="pybullet").episodes
    assert there.instruction == here.instruction and there != here
    assert there.success
    assert tendon.evaluate("tabletop", scene, simulator="mujoco").episodes == (there,)


def test_a_policy_that_is_no_bundle_stays_in_this_process() -> None:
    policy = tendon.load_policy("tabletop", "panda")
    with pytest.raises(tendon.ConfigError, match="workers is 2, must be 1"):
        tendon.evaluate(policy, SCENES, workers=2)

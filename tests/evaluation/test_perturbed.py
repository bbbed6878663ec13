"""Episodes under perturbations: the same for the same seed, another than without, and named as they were asked for."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tendon.cli import main
from tendon.cli.eval_options import TimingName, trials
from tendon.core.errors import ConfigError
from tendon.core.pace import Pace
from tendon.evaluation.episode import Setting, Timing
from tendon.evaluation.expert_policy import ExpertPolicy
from tendon.evaluation.perturbed_policy import PerturbedPolicy
from tendon.evaluation.pool import Tools, run_here
from tendon.evaluation.suites import load_suite
from tendon.evaluation.timed_policy import TimedPolicy
from tendon.policies.bundle.places import EXPERT, find_bundle
from tendon.robots.profile import load_profile
from tendon.sim.backend import SimBackend
from tendon.sim.tabletop.suite import TABLETOP
from tests.evaluation.turning import TurningPolicy
from tests.robots.calibrated import calibrated_panda

SEEDS = range(100_000, 100_002)


def episodes(*perturbations: tuple[str, float], policy: str = EXPERT) -> list[object]:
    setting = Setting(timing=Timing.OVERWRITE, perturbations=perturbations)
    return list(run_here(load_suite("tabletop"), policy, "panda", SEEDS, setting))


def test_no_strength_is_no_perturbation_and_one_seed_is_one_episode() -> None:
    plain = episodes()
    assert plain == episodes(("dynamics", 0.0), ("pose", 0.0), ("blur", 0.0))
    harder = episodes(("dynamics", 1.0), ("pose", 1.0))
    assert harder == episodes(("dynamics", 1.0), ("pose", 1.0)) != plain


def asked(perturb: str) -> tuple[tuple[str, float], ...]:
    made = trials(
        seeds="100000:100002",
        timing=TimingName.OVERWRITE,
        delay_ms=0.0,
        suite="auto",
        robot="panda",
        simulator="auto",
        perturb=perturb,
    )
    return made.perturbations


def test_names_and_strengths_are_read_and_what_is_none_is_refused() -> None:
    assert asked("") == ()
    assert asked("light_and_colour=0.5, dynamics") == (("light_and_colour", 0.5), ("dynamics", 1.0))
    for text, said in (
        ("blurr", "did you mean blur"),
        ("blur=much", "'much' is no strength"),
        ("blur=-1", "strength is -1"),
        ("blur=nan", "strength is nan"),
    ):
        with pytest.raises(ConfigError, match=said):
            asked(text)


def test_the_command_says_what_was_harder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "found.json"
    options = ["--seeds", "100000:100002", "--timing", "overwrite", "--workers", "1", "--out", str(out)]
    assert main(["eval", "run", "expert", "--perturb", "dynamics=0.5,pose", *options]) == 0
    assert "dynamics 0.5, pose 1" in capsys.readouterr().out
    assert json.loads(out.read_text(encoding="utf-8"))["perturb"] == "dynamics=0.5,pose"
    assert main(["eval", "run", "expert", "--robot", "ur5e", "--perturb", "pose", *options]) != 0
    assert "perturbation is 'pose'" in capsys.readouterr().err, "that is one of the tabletop"


def test_an_arm_with_a_bad_zero_is_neither_where_it_says_nor_where_it_was_sent() -> None:
    profile = load_profile("panda")
    backend = SimBackend(TABLETOP.world(profile))
    scene = TABLETOP.scene(profile, 100_000)
    backend.joint_zero = np.linspace(-0.02, 0.02, 8)
    backend.reset(scene)
    truly, _ = backend.world.joint_state()
    said, _ = backend.observe_joints()
    assert np.allclose(said - truly, backend.joint_zero)
    backend.advance(200_000_000)  # the trajectory controller holds what the joints say
    assert np.allclose(backend.observe_joints()[0], said, atol=2e-3)
    assert np.allclose(backend.observe().joint_position, backend.observe_joints()[0])
    backend.close()


@pytest.mark.parametrize("policy", ["expert", find_bundle("tabletop")], ids=["expert", "bundle"])
def test_a_calibrated_arm_moves_as_one_that_is_exact(policy: Path | str, tmp_path: Path) -> None:
    """It says its zeros, and everything that reads or commands joints counts them."""
    places = []
    for robot in ("panda", str(calibrated_panda(tmp_path))):
        tools = Tools(TABLETOP, policy, robot, Timing.OVERWRITE, "pybullet")
        try:
            tools.run(100_000, Setting(timing=Timing.OVERWRITE, limit_s=1.0))
            places.append(tools.world.joint_state()[0])
        finally:
            tools.close()
    home = load_profile("panda").vector("home")
    assert np.abs(places[0] - home).max() > 0.1
    np.testing.assert_allclose(places[1], places[0], atol=2e-3)


def test_the_arm_of_a_hard_suite_is_the_same_in_each_scene_and_another_arm_is_not() -> None:
    hard, profile = load_suite("tabletop_hard"), load_profile("panda")
    world = TABLETOP.world(profile)
    perturbation, drawn = hard.harder({}), []
    for arm, seed in ((2, 100_000), (2, 100_001), (3, 100_000), (None, 100_000), (None, 100_001)):
        policy = PerturbedPolicy(ExpertPolicy(TABLETOP, profile, lambda: None), world, arm)  # type: ignore[arg-type]
        policy.begin(perturbation, TABLETOP.scene(profile, seed))
        drawn.append(tuple(policy.joint_zero.tolist()))
        assert drawn[-1][7] == 0.0, "a finger has no zero of its own"
    assert drawn[0] == drawn[1] and len(set(drawn)) == 4
    assert hard.difficulty.arm == 2 and hard.difficulty.delay_s == 0.1
    world.close()


def test_a_strength_that_is_asked_for_counts_before_that_of_the_suite() -> None:
    hard = load_suite("tabletop_hard")
    plain = hard.harder(dict.fromkeys(hard.difficulty.perturbations, 0.0))
    scene = hard.scene(load_profile("panda"), 100_000)
    assert plain.change(scene, np.random.default_rng(0)) == scene
    assert hard.harder({}).change(scene, np.random.default_rng(0)) != scene
    with pytest.raises(ConfigError, match="perturbation is 'gravity'"):
        hard.harder({"gravity": 1.0})


def test_what_stands_between_a_policy_and_its_schedule_keeps_its_pace() -> None:
    profile, pace = load_profile("panda"), Pace(replan_rows=4, continued_rows=5)
    world, plain = TABLETOP.world(profile), TurningPolicy()
    plain.pace = pace  # type: ignore[misc]
    perturbed = PerturbedPolicy(plain, world)
    assert perturbed.pace == pace
    given = {"continues": True, "rows": None, "delay_ns": 0}
    assert TimedPolicy(perturbed, **given).pace == pace  # type: ignore[arg-type]
    assert TimedPolicy(perturbed, **given, pace=Pace()).pace == Pace()  # type: ignore[arg-type]
    world.close()

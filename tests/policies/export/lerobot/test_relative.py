"""Relative actions: the observed state is added where LeRobot's own steps add it, and nothing else is accepted."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from tendon.core.errors import ConfigError, MismatchError
from tendon.policies.adapter.adapter import ROW_ADAPTERS
from tendon.policies.export.lerobot.relative import relative_mask, relative_spaces
from tendon.policies.export.lerobot.source import read_source
from tendon.policies.export.spaces_file import Spaces, joint_spaces
from tendon.robots.profile import load_profile
from tests.policies.export.lerobot.so101 import JOINTS, write_so101
from tests.policies.export.lerobot.test_versions import FOLDERS, answered, changed, restored

SAVED = ("0.5.1/pi0_relative", "0.6.1/pi0_relative")
EXCLUDED = (True,) * 5 + (False,)


@pytest.fixture(scope="module")
def spaces(tmp_path_factory: pytest.TempPathFactory) -> Spaces:
    profile = load_profile(write_so101(tmp_path_factory.mktemp("robot") / "so101", ("scene",), 48, 36))
    return joint_spaces(profile, "deg", ("percent", 100.0))


@pytest.mark.parametrize("saved", SAVED)
def test_the_mask_is_lerobots(saved: str, tmp_path: Path) -> None:
    """The gripper is left out by name; both versions call the step differently."""
    assert relative_mask(read_source(restored(saved, tmp_path / "policy"))) == EXCLUDED


@pytest.mark.parametrize("saved", ["0.5.1/pi0", "0.6.1/pi05", "0.6.1/act"])
def test_off_is_absolute(saved: str, tmp_path: Path) -> None:
    assert relative_mask(read_source(restored(saved, tmp_path / "policy"))) is None


@pytest.mark.parametrize("saved", SAVED)
def test_the_robot_gets_what_lerobots_postprocessor_answers(saved: str, tmp_path: Path, spaces: Spaces) -> None:
    """In degrees and percent of an SO-101: LeRobot's absolute chunk, from its relative one and the observed joints."""
    source = read_source(restored(saved, tmp_path / "policy"))
    profile = load_profile(write_so101(tmp_path / "so101", ("scene",), 48, 36))
    action = source.action_normalisation()
    space = relative_spaces(spaces, EXCLUDED).action_space(0.1, action.mean, action.std, rows=1)
    rows = ROW_ADAPTERS[space.space]("policy", space, profile)
    absolute = ROW_ADAPTERS[space.space]("data", spaces.action_space(0.1, action.mean, action.std, rows=1), profile)
    for case in range(3):
        seen = answered(saved, case)
        relative = seen["chunk"][0] - seen["state"][0] * EXCLUDED
        origin = absolute.targets(seen["state"], np.zeros(6))[0]
        np.testing.assert_allclose(
            rows.targets(relative, origin), absolute.targets(seen["chunk"][0], origin), atol=1e-6
        )


def test_lerobots_own_step_added_the_state(tmp_path: Path) -> None:
    """The same weights and noise with and without: the difference is the state, but for the gripper."""
    for version in ("0.5.1", "0.6.1"):
        on, off = (load_file(FOLDERS / version / kind / "answers.safetensors") for kind in ("pi0_relative", "pi0"))
        for case in range(3):
            added = on[f"{case}.chunk"][0] - off[f"{case}.chunk"][0]
            np.testing.assert_allclose(added, np.tile(on[f"{case}.state"][0] * EXCLUDED, (6, 1)), atol=1e-6)


def test_without_names_nothing_is_left_out(tmp_path: Path) -> None:
    folder = restored("0.6.1/pi0_relative", tmp_path / "policy")
    changed(folder / "policy_preprocessor.json", step("relative_actions_processor", action_names=None))
    assert relative_mask(read_source(folder)) == (True,) * 6


def step(name: str, **settings: Any) -> Callable[[dict[str, Any]], object]:
    def change(raw: dict[str, Any]) -> None:
        (found,) = (each for each in raw["steps"] if each["registry_name"] == name)
        found["config"].update(settings)

    return change


def last_first(raw: dict[str, Any]) -> None:
    raw["steps"].insert(0, raw["steps"].pop(1))


REFUSED = {
    "off in one": ("post", step("absolute_actions_processor", enabled=False), "are on in .* and off in"),
    "no switch": ("pre", step("relative_actions_processor", enabled="yes"), "enabled .* is 'yes', must be true or"),
    "names that are none": ("pre", step("relative_actions_processor", exclude_joints=[3]), r"is \[3\], must be a list"),
    "state added before the scale": ("post", last_first, "unnormalizer_processor comes after absolute_actions"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_steps_that_do_not_agree_are_refused(case: str, tmp_path: Path) -> None:
    which, change, text = REFUSED[case]
    folder = restored("0.6.1/pi0_relative", tmp_path / "policy")
    changed(folder / f"policy_{which}processor.json", change)
    with pytest.raises(ConfigError, match=text):
        relative_mask(read_source(folder))


def test_a_state_in_another_unit_or_order_is_refused(spaces: Spaces) -> None:
    """Numbers are added before they are joints, so that both must mean the same."""
    (item,) = spaces.state
    swapped = Spaces(state=(type(item)(name="joints", joints=item.joints[::-1]),), action=spaces.action)
    with pytest.raises(MismatchError, match=f"state's is gripper in percent and the action's {JOINTS[0]} in deg"):
        relative_spaces(swapped, EXCLUDED)


def test_spaces_that_are_relative_already_are_refused(spaces: Spaces) -> None:
    said = Spaces(state=spaces.state, action={**spaces.action, "relative_to": "observation"})
    with pytest.raises(MismatchError, match="say what the data set holds"):
        relative_spaces(said, EXCLUDED)


def test_the_stored_configuration_says_so(tmp_path: Path) -> None:
    """A fixture that lost its settings would prove nothing."""
    for saved in SAVED:
        assert json.loads((FOLDERS / saved / "config.json").read_text())["use_relative_actions"] is True

"""What `BUNDLE+RESIDUAL` names: also where a path has a plus of its own, and never half of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tendon.control.residual.space import ResidualSpace
from tendon.core.errors import ConfigError, MismatchError
from tendon.evaluation.contender import find_contender
from tendon.policies.bundle.bundle import load_bundle
from tendon.policies.inference.identity import policy_digest
from tests.policies.residual.tiny import write_constant, write_imported


@pytest.mark.parametrize("place", ["mine", "c++/mine", "mine+", "a+b/c+d"])
def test_a_bundle_and_its_residual_are_found_whatever_their_paths(place: str, tmp_path: Path) -> None:
    bundle = write_imported(tmp_path / place)
    base = policy_digest(load_bundle(bundle).manifest)
    alone = find_contender(str(bundle), "panda")
    assert (alone.bundle, alone.digest, alone.residual) == (bundle.resolve(), base, None)
    residual = write_constant(tmp_path / "r" / place, [0.0] * 4, base, ResidualSpace())
    both = find_contender(f"{bundle}+{residual}", "panda")
    assert (both.bundle, both.residual) == (bundle.resolve(), residual.resolve())
    assert both.digest.startswith(f"{base}+")


def test_a_residual_without_a_name_is_refused(tmp_path: Path) -> None:
    bundle = write_imported(tmp_path / "mine")
    for name in (f"{bundle}+", "expert+"):
        with pytest.raises(ConfigError, match=r"\+ names no residual: write its folder behind the \+"):
            find_contender(name, "panda")
    with pytest.raises(ConfigError, match=r"no policy bundle at .*nowhere or"):
        find_contender(f"nowhere+{bundle}+", "panda")


def test_a_bundle_of_another_robot_is_refused_before_any_episode(tmp_path: Path) -> None:
    with pytest.raises(MismatchError, match="bundle imported: robot is panda, expected ur5e"):
        find_contender(str(write_imported(tmp_path / "mine")), "ur5e")

"""A profile that somebody has still to fill in loads, and cannot be armed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tendon.core.errors import ConfigError
from tendon.robots.profile import load_profile
from tendon.robots.unknowns import ADVICE


def test_the_first_unknown_is_named_with_how_to_find_it_out() -> None:
    profile = replace(load_profile("panda"), unknown=("jerk", "workspace"))
    assert profile.arming_obstacle == (
        f"profile panda is not filled in, jerk is a guess: {ADVICE['jerk']}; then take jerk out of `unknown` (and then "
        "workspace)"
    )
    assert not replace(profile, unknown=()).arming_obstacle


def test_a_word_that_is_no_unknown_is_refused_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match="unknown lists jrk; did you mean jerk"):
        replace(load_profile("panda"), unknown=("jrk",))


def test_no_robot_that_comes_with_tendon_has_an_unknown() -> None:
    assert [
        name for name in ("panda", "fr3", "ur5e", "so101", "g1_arms", "ur5e_2f85") if load_profile(name).unknown
    ] == []

"""`tendon robot tracking`: what a robot was off its commands, against its tolerances and margins."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tendon.cli.tracking_table import show_tracking
from tendon.control.clearance.model import Clearance
from tendon.core.errors import StoppedError
from tendon.robots.environment import load_environment
from tests.control.limits_checker import PROFILE

NAMES = PROFILE.joint_names


def test_a_tolerance_below_twice_the_largest_error_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert not show_tracking(PROFILE, None, dict.fromkeys(NAMES, 0.039))
    assert show_tracking(PROFILE, None, {**dict.fromkeys(NAMES, 0.0), "panda_joint4": 0.041})
    assert "0.0820" in capsys.readouterr().out


def test_a_gripper_may_be_off_as_far_as_it_likes() -> None:
    assert not show_tracking(PROFILE, None, {**dict.fromkeys(NAMES, 0.0), NAMES[7]: 0.04})


def test_no_distance_changes_by_more_than_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    around = load_environment("tabletop")
    show_tracking(PROFILE, around, dict.fromkeys(NAMES, 0.01))
    (name, most), *_ = re.findall(r"distance (.*?) by at\s+most (\d+) mm", capsys.readouterr().out.replace("\n", " "))
    clearance, rng = Clearance(PROFILE, around), np.random.default_rng(0)
    row = clearance.names.index(name)
    for _ in range(200):
        q = rng.uniform(PROFILE.vector("lower"), PROFILE.vector("upper"))
        off = np.where(np.arange(8) < 7, rng.choice([-0.01, 0.01], 8), 0.0)
        assert abs(clearance.distances(q + off) - clearance.distances(q))[row] <= (int(most) + 0.5) * 1e-3


def test_another_robot_is_said() -> None:
    with pytest.raises(StoppedError, match="a robot with the joints shoulder runs, not panda"):
        show_tracking(PROFILE, None, {"shoulder": 0.1})

"""Fixtures of the control tests."""

from __future__ import annotations

import pytest

from tendon.robots.profile import RobotProfile
from tests.control.limits_checker import PROFILE


@pytest.fixture(scope="session")
def profile() -> RobotProfile:
    return PROFILE

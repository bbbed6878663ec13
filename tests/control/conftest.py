"""Fixtures of the control tests."""

from __future__ import annotations

import pytest
from limits_checker import PROFILE

from tendon.robots.profile import RobotProfile


@pytest.fixture(scope="session")
def profile() -> RobotProfile:
    return PROFILE

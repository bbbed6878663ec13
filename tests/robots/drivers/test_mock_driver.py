"""The mock robot: what every driver does, for every shipped profile, and its lag and noise."""

from __future__ import annotations

import numpy as np
import pytest

from tendon.core.clock import ManualClock
from tendon.core.errors import ConfigError
from tendon.robots.drivers.mock.driver import MockDriver, MockSettings
from tendon.robots.profile import RobotProfile, load_profile
from tests import ROOT
from tests.robots.drivers.driver_conformance import MS, DriverConformance

EXAMPLE = str(ROOT / "docs" / "examples" / "two_joint_arm" / "profile.yaml")
PROFILES = ("panda", "fr3", "ur5e", "ur10e", "xarm7", "so101", "g1_arms", "talos_upper", EXAMPLE)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(1000 * MS)


@pytest.fixture(params=PROFILES)
def profile(request: pytest.FixtureRequest) -> RobotProfile:
    return load_profile(request.param)


class TestExact(DriverConformance):
    @pytest.fixture
    def driver(self, profile: RobotProfile, clock: ManualClock) -> MockDriver:
        return MockDriver(profile, clock)


class TestLagging(DriverConformance):
    settle_s, near = 0.5, 1e-3

    @pytest.fixture
    def driver(self, profile: RobotProfile, clock: ManualClock) -> MockDriver:
        return MockDriver(profile, clock, MockSettings(lag_s=0.05))

    def test_a_moving_joint_is_its_lag_behind(self, driver: MockDriver, clock: ManualClock) -> None:
        """By speed times lag, and half a command period; and it moves at the commanded speed."""
        driver.connect()
        velocity = np.zeros(len(driver.read().position))
        velocity[0] = 0.2
        start = np.array(driver.read().position)
        reading = self.drive(driver, clock, velocity, 60)
        behind = start[0] + 0.6 * 0.2 - reading.position[0]
        assert 0.2 * 0.045 <= behind <= 0.2 * 0.06
        assert reading.velocity[0] == pytest.approx(0.2, rel=0.05)


def test_noise_has_the_size_it_was_given_and_is_the_same_each_time(clock: ManualClock) -> None:
    profile, rows = load_profile("panda"), []
    for _ in range(2):
        driver = MockDriver(profile, clock, MockSettings(noise=0.002))
        driver.connect()
        rows.append(np.array([driver.read().position for _ in range(2000)]))
    assert (rows[0] == rows[1]).all()
    assert np.std(rows[0] - profile.vector("home"), axis=0) == pytest.approx(np.full(8, 0.002), rel=0.1)


@pytest.mark.parametrize("key", ["lag_s", "noise", "effort"])
@pytest.mark.parametrize("value", [-0.1, float("nan"), 5e5, "fast"])
def test_a_setting_out_of_bounds_is_refused(key: str, value: float) -> None:
    with pytest.raises(ConfigError, match=f"{key} is .*must be a finite number at least 0 and at most"):
        MockSettings(**{key: value})

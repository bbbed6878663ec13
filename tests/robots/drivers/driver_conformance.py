"""What every driver must do. A driver's tests subclass `DriverConformance` and give it a robot on a manual clock."""

from __future__ import annotations

import numpy as np
import pytest

from tendon.core.clock import ManualClock
from tendon.core.errors import InvalidDataError, StoppedError
from tendon.core.types import Array
from tendon.robots.drivers.driver import Driver, JointReading
from tendon.robots.profile import RobotProfile

MS = 1_000_000


def inward(driver: Driver, profile: RobotProfile) -> Array:
    """Returns (n,) each joint's speed limit, toward the middle of its range."""
    middle = 0.5 * (profile.vector("lower") + profile.vector("upper"))
    return np.asarray(profile.vector("velocity") * np.sign(middle - driver.read().position + 1e-12))


class DriverConformance:
    """Held by every driver. `driver`, `clock` and `profile` are fixtures of the subclass; the driver is not connected.

    `settle_s` is how long the robot may take to be within `near` of a command.
    """

    settle_s = 0.0
    near = 1e-9

    def pass_time(self, clock: ManualClock, seconds: float) -> None:
        clock.advance_ns(round(seconds * 1e9))

    def drive(self, driver: Driver, clock: ManualClock, velocity: Array, count: int) -> JointReading:
        """Commands a motion at constant velocity, 100 times a second; returns the last reading."""
        reading = driver.read()
        position = np.array(reading.position)
        for _ in range(count):
            self.pass_time(clock, 0.01)
            position = position + 0.01 * velocity
            driver.command(position, velocity)
            reading = driver.read()
        return reading

    def test_nothing_works_before_it_is_connected_and_after_it_is_closed(
        self, driver: Driver, profile: RobotProfile
    ) -> None:
        home, still = profile.vector("home"), np.zeros(len(profile.joints))
        for _ in range(2):
            for call in (driver.read, driver.stop, lambda: driver.command(home, still)):
                with pytest.raises(StoppedError, match="not connected"):
                    call()
            driver.connect()
            driver.close()
            driver.close()

    def test_it_reads_every_joint_fresh_and_finite(
        self, driver: Driver, clock: ManualClock, profile: RobotProfile
    ) -> None:
        driver.connect()
        stamps = []
        for _ in range(3):
            self.pass_time(clock, 0.01)
            reading = driver.read()
            assert reading.position.shape == reading.velocity.shape == (len(profile.joints),)
            assert 0 <= clock.now_ns() - reading.stamp_ns <= 20 * MS
            stamps.append(reading.stamp_ns)
        assert stamps == sorted(set(stamps)), "time stands still"
        with pytest.raises(ValueError, match="read-only"):
            reading.position[0] = 0.0

    def test_connecting_moves_nothing(self, driver: Driver, clock: ManualClock) -> None:
        driver.connect()
        before = driver.read().position
        self.pass_time(clock, 2.0)
        np.testing.assert_allclose(driver.read().position, before, atol=max(self.near, 1e-9))

    def test_it_goes_where_it_is_told(self, driver: Driver, clock: ManualClock, profile: RobotProfile) -> None:
        driver.connect()
        velocity = 0.4 * inward(driver, profile)
        start = np.array(driver.read().position)
        self.drive(driver, clock, velocity, 10)
        target = start + 0.1 * velocity
        for _ in range(round(self.settle_s / 0.01)):
            self.pass_time(clock, 0.01)
            driver.command(target, np.zeros(len(target)))
        np.testing.assert_allclose(driver.read().position, target, atol=self.near)

    @pytest.mark.parametrize("wrong", ["nan", "inf", "short", "below", "above", "jump", "fast", "nan velocity"])
    def test_a_bad_command_is_refused_and_changes_nothing(
        self, wrong: str, driver: Driver, clock: ManualClock, profile: RobotProfile
    ) -> None:
        driver.connect()
        reading = driver.read()
        position, velocity = np.array(reading.position), np.zeros(len(profile.joints))
        self.pass_time(clock, 0.01)
        match wrong:
            case "nan" | "inf":
                position[-1] = float(wrong)
            case "nan velocity":
                velocity[0] = np.nan
            case "short":
                position = position[:-1]
            case "below":
                position[0] = profile.vector("lower")[0] - 0.01
            case "above":
                position[0] = profile.vector("upper")[0] + 0.01
            case "jump":
                position[0] += np.sign(profile.vector("lower")[0] - position[0] + 1e-12) * 0.3
            case "fast":
                velocity[0] = 3 * profile.vector("velocity")[0]
        with pytest.raises(InvalidDataError):
            driver.command(position, velocity)
        self.pass_time(clock, 0.05)
        np.testing.assert_allclose(driver.read().position, reading.position, atol=max(self.near, 1e-9))
        driver.command(np.array(reading.position), np.zeros(len(profile.joints)))

    def test_it_rests_when_commands_cease(self, driver: Driver, clock: ManualClock, profile: RobotProfile) -> None:
        driver.connect()
        middle = 0.5 * (profile.vector("lower") + profile.vector("upper"))
        self.drive(
            driver, clock, 0.3 * profile.vector("velocity") * np.sign(middle - driver.read().position + 1e-12), 5
        )
        self.pass_time(clock, 1.0)
        first = driver.read()
        self.pass_time(clock, 1.0)
        second = driver.read()
        np.testing.assert_allclose(second.position, first.position, atol=max(self.near, 1e-6))
        np.testing.assert_allclose(second.velocity, 0.0, atol=1e-3)

    def test_a_stop_brakes_inside_the_limits_and_refuses_commands_until_it_is_connected_again(
        self, driver: Driver, clock: ManualClock, profile: RobotProfile
    ) -> None:
        driver.connect()
        middle = 0.5 * (profile.vector("lower") + profile.vector("upper"))
        self.drive(
            driver, clock, 0.5 * profile.vector("velocity") * np.sign(middle - driver.read().position + 1e-12), 5
        )
        driver.stop()
        readings = [driver.read()]
        for _ in range(500):
            self.pass_time(clock, 0.002)
            readings.append(driver.read())
        speeds = np.array([reading.velocity for reading in readings])
        slack = 1.02 * 0.002 * profile.vector("acceleration") + 1e-9
        assert (np.abs(np.diff(speeds, axis=0)) <= slack).all(), "braked harder than the joint may"
        assert not speeds[-1].any()
        positions = np.array([reading.position for reading in readings])
        assert (positions >= profile.vector("lower")).all() and (positions <= profile.vector("upper")).all()
        with pytest.raises(StoppedError, match="stopped"):
            driver.command(readings[-1].position, np.zeros(len(profile.joints)))
        driver.stop()
        driver.connect()
        driver.command(driver.read().position, np.zeros(len(profile.joints)))

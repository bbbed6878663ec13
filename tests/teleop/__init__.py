"""Tests of `tendon.teleop`."""

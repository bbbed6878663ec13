"""Tests of tendon.sim.pybullet."""

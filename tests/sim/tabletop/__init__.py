"""Tests of tendon.sim.tabletop."""

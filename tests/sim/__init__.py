"""Tests of tendon.sim."""

"""Tests of tendon.safety."""

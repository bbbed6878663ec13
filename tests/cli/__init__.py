"""Tests of tendon.cli."""

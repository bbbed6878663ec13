"""Tests of tendon.robots."""

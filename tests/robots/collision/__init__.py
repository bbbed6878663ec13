"""Tests of tendon.robots.collision."""

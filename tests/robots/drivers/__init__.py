"""Tests of tendon.robots.drivers."""

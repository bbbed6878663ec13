"""Tests of wheel, colcon package and dependencies."""

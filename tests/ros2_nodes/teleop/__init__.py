"""Tests of the teleoperation node as a real process."""

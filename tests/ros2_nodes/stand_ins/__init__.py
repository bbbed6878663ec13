"""Tests of what plays a robot."""

"""Tests of tendon.control.clearance."""

"""Tests of tendon.control.homing."""

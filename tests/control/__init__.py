"""Tests of tendon.control."""

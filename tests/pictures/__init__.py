"""Tests of tendon.pictures."""

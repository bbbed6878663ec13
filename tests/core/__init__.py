"""Tests of tendon.core."""

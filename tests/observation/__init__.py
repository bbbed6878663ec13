"""Tests of tendon.observation."""

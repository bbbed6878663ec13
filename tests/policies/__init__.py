"""Tests of tendon.policies."""

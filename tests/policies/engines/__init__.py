"""Tests of tendon.policies.engines."""

"""Tests of tendon.policies.detector."""

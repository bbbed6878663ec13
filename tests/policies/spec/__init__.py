"""Tests of tendon.policies.spec."""

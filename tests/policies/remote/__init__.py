"""Tests of tendon.policies.remote."""

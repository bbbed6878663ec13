"""Tests of tendon.policies.training."""

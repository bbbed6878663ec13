"""Tests of tendon.policies.inference."""

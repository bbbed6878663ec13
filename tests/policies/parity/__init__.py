"""Tests of tendon.policies.parity."""

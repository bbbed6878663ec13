"""Tests of tendon.policies.bundle."""

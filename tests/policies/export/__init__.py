"""Tests of tendon.policies.export."""

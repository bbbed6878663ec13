"""Tests of tendon.policies.remote.openpi."""

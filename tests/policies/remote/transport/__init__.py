"""Tests of tendon.policies.remote.transport."""

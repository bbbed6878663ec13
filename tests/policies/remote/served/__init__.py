"""Tests of tendon.policies.remote.served."""

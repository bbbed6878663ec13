"""Tests of tendon.policies.remote.gr00t."""

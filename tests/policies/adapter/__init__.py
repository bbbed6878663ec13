"""Tests of tendon.policies.adapter."""

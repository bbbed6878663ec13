"""Tests of tendon.policies.export.lerobot."""

"""Tests of tendon.evaluation.redteam."""

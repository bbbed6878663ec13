"""Tests of tendon.evaluation."""

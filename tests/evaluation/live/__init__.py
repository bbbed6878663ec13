"""Tests of tendon.evaluation.live."""

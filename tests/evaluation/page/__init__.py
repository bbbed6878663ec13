"""Tests of tendon.evaluation.page."""

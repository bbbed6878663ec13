"""Tests of tendon.graph.running."""

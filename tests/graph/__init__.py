"""Tests of tendon.graph."""

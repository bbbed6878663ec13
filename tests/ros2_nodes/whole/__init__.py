"""Tests of the whole graph, as a user runs it."""

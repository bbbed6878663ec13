"""Tests of what the recorder writes, without a graph."""

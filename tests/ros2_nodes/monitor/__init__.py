"""Tests of the safety monitor in a running graph."""

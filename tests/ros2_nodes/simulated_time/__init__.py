"""Tests of simulated time in a running graph."""

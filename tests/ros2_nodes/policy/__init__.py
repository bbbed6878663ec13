"""Tests of the policy node in a running graph."""

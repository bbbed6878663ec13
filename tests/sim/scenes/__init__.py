"""Tests of suites that a file describes."""

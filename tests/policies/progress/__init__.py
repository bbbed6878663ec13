"""Tests of progress estimators."""

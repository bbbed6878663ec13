"""Tests of residuals on disk."""

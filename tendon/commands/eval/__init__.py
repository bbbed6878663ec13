"""Measure policies: success, which of two is better, what they do not bear."""

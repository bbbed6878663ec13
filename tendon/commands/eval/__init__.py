"""Measure policies: success, which of two is better, what makes them fail."""

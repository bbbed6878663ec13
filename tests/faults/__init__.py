"""Breaks the running graph in every known way, with real processes."""

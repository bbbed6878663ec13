"""Chunks, commands and what the filter was given, as trajectories."""

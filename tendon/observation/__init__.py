"""Frames and joint states to one observation, the same live and offline."""

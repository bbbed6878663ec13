"""Lenses: what a camera makes of a point, and how that is found."""

"""Prepare and look at robot profiles."""

"""Tiny policies as newer LeRobots saved them."""

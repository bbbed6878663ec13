"""Distances the robot keeps: to itself, its surroundings and people, at a pose and over a whole motion."""

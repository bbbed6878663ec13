"""Looks for what is wrong with a robot's profile before anything moves: a module for each subject."""

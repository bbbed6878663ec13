"""Boards: what they are, how they are printed, built in a simulator, and found in a picture."""

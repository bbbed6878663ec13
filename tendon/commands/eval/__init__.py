"""Run policies for numbers."""

"""Recordings read back."""

"""Recordings to datasets and back."""

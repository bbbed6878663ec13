"""Policies on openpi's own servers."""

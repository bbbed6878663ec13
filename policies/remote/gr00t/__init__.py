"""Policies on NVIDIA's GR00T servers."""

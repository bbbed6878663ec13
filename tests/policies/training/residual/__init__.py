"""Tests of how a residual is trained."""

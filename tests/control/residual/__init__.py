"""Tests of the residual."""

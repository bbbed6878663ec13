"""Trains a residual on a frozen policy from sparse rewards."""

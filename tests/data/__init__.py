"""Tests of recordings and datasets."""

"""Rigs that benchmarks draw: rendered, or computed."""

"""The demo on a running graph."""

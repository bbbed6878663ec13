"""See a running graph."""

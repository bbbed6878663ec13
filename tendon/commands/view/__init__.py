"""See a running graph, a recording or a dataset in 3D."""

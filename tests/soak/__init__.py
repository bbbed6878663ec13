"""Long runs of the demo and of the graph on machines with other work."""

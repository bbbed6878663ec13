"""A graph that runs: its processes, what they say, and what a person sees of it."""

"""A search for what a policy fails at, and for limits that are broken: the worst that is found becomes a suite."""

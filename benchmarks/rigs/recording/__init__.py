"""A heavy load for recorders, and the recorders beside a moving robot."""

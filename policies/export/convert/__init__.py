"""A bundle in another precision, or with a number that steers it."""

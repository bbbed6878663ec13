"""A policy as a folder: read, verified and signed before anything in it is parsed."""

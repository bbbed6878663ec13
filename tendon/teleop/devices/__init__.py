"""Input devices, one a file; each imports its library when it is opened."""

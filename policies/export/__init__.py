"""From a trained network to a bundle. Needs torch; what it writes does not."""

"""Make, check and edit what policies learn from: demonstrations, recordings, datasets."""

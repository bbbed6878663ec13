"""Record what policies learn from and are measured with."""

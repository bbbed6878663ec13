"""The residual: a learned correction of every target, bounded, ramped and withdrawn when it does not earn its place."""

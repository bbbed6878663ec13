"""Making the small VLA from demonstrations. The only package, with `tendon.policies.export`, that needs torch."""

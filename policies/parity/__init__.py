"""Whether a graph is still the policy that it was made from."""

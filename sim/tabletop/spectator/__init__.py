"""What people see of a run: the whole scene from the side, with the real shapes. Not for policies."""

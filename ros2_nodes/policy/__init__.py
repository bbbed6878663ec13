"""What only the policy node's process has."""

"""What only the recorder node's process has."""

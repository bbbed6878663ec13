"""What only the safety monitor's process has."""

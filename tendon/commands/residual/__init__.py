"""Learn a correction of a frozen policy."""

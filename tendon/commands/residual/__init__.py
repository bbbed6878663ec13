"""Learn a bounded correction of a frozen policy, and tell a running graph what came of it."""

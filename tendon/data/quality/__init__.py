"""How good demonstrations are: measured, shown, and a subset picked by it."""

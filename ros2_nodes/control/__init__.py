"""What the control node does beside its loop."""

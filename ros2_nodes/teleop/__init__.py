"""The teleoperation node's panel."""

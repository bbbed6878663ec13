"""Between a policy's numbers and a robot's joints, and whether the two fit."""

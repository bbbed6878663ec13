"""`tendon policy serve`: its server, and a robot's link to it."""

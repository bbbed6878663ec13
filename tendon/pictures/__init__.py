"""Pictures of robots, and a running one in 3D."""

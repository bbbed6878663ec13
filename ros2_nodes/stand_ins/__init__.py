"""What stands in for a robot and its cameras, in simulation and on the mock."""

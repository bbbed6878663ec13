"""Tests of tendon.ros2_nodes.clients."""

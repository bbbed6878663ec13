"""Tests of tendon.ros2_nodes.control."""

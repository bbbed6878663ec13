"""Recordings of a running graph, datasets made of them, and how good they are. No ROS in it."""

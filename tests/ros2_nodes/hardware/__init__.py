"""Robots behind ros2_control, `backend:=hardware`: its controllers and their manager are played by a test."""

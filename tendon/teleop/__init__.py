"""Teleoperation without ROS: input devices, what their axes mean, the deadman of the hand, and motion of the arm."""

"""Calibration: from pictures of a board to cameras, joint zeros and latencies, and how sure each is.

No ROS in it.
"""

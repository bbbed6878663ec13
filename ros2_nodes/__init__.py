"""Thin rclpy shells over the ROS-free code: the only package that imports rclpy."""

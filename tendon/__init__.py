"""Tendon deploys vision-language-action policies on robots with ROS 2."""

__version__ = "0.1.0"

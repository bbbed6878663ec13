"""The robot side without ROS: drivers of robots, and what plays a profile's controllers on one."""

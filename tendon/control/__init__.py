"""One tick of the whole graph without ROS: executor, residual, filter, stop and modes."""

"""What a robot is, without ROS: profile, kinematics, collision model, drivers, and what plays its controllers."""

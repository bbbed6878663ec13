"""What any world in PyBullet is made of: the client, a robot whose joints are servos, stepped time."""

"""What every node is made of: parameters, time, heartbeat, quality of service, and the start and end of its process."""

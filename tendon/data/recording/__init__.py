"""Messages to an MCAP file an episode, durable while it is written."""

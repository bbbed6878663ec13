"""What a peer may send: every subscription and service of every node, with any message at all."""

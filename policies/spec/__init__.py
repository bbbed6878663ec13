"""What a policy says of itself: `bundle.yaml`, what its numbers mean, and how its actions are sampled."""

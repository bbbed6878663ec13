"""A bundle at work: observation in, chunk out, beside the control loop."""

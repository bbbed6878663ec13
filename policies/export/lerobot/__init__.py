"""From a LeRobot pretrained directory to a bundle, checked against LeRobot's own output."""

"""What a calibration leaves: a file, a report, environments."""

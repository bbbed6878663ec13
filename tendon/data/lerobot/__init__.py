"""LeRobotDataset v3.0: written, read and checked (its `meta/`, parquet and video files)."""

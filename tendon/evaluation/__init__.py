"""Running policies for numbers: episodes, statistics and reports."""

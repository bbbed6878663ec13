"""Stop, reset and arm the robot of a running graph; read its event log."""

PANELS = {
    "While it runs": ("stop", "reset", "arm"),
    "The event log": ("log", "verify-log", "replay-log"),
}
"""Headings of `tendon safety --help`."""

"""The commands of `tendon`: a module each, in a folder for each group."""

PANELS = {
    "Start": ("demo", "run", "teleop", "say", "status", "doctor", "align"),
    "Groups of commands": ("robot", "calibrate", "policy", "residual", "record", "data", "eval", "safety", "view"),
}
"""Headings of `tendon --help`."""

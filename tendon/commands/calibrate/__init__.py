"""Find out where cameras are, what lenses do and how joints are off, and how sure that is."""

PANELS = {
    "Before": ("board", "intrinsics"),
    "Views": ("capture", "guide"),
    "Calibrate": ("solve", "verify", "latency", "joint", "plane", "workspace"),
    "Use": ("frames",),
    "Try": ("demo", "practice"),
}

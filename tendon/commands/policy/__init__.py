"""Make, import, measure, sign, serve and change policies."""

PANELS = {
    "Make one": ("train", "export", "import", "variant", "add-steering", "calibrate-detector", "train-progress"),
    "Look at one": ("check", "bench", "serve", "schema"),
    "Trust one": ("keygen", "pin", "sign", "verify"),
    "While it runs": ("switch", "steer"),
}
"""Headings of `tendon policy --help`."""

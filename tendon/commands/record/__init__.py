"""Record episodes of a running graph that was started with record:=true or record:=manual."""

PANELS = {"Episodes": ("start", "keep", "success", "failure", "discard", "note", "keys")}
"""Headings of `tendon record --help`."""

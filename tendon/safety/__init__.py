"""The independent check: monitor, laws of commands, watches, latch and log. Nothing of the filter is used here."""

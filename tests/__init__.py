"""Tests, in folders as the packages that they try; helpers are imported as `tests.FOLDER.NAME`."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
"""Of the repository."""

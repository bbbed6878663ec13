"""Training needs torch, which deployment does not have: these tests run with `make test-train`."""

from __future__ import annotations

import importlib.util

TORCH = importlib.util.find_spec("torch") is not None
NEEDING_IT = [
    "residual",
    "test_augment.py",
    "test_mixture.py",
    "test_progress.py",
    "test_training.py",
    "test_two_graphs.py",
]
collect_ignore = [] if TORCH else NEEDING_IT


def pytest_report_header() -> str:
    """Says so when they are left out."""
    return (
        ""
        if TORCH
        else "tests of training are left out: torch is not installed; `make test-train` installs it and runs them"
    )

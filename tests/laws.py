"""How many examples a law is tried with: some in `make test`, ten times as many in `make test-laws`."""

from __future__ import annotations

from typing import Any

from hypothesis import settings

USUAL, THOROUGH = 100, 1000
"""Examples of a law that names no number: Hypothesis's own, and those of the profile `laws` (tests/conftest.py)."""


def law_settings(max_examples: int = USUAL, **more: Any) -> settings:
    """Returns the settings of a law: so many examples in the usual profile, in the other as many times more."""
    return settings(max_examples=max_examples * settings().max_examples // USUAL, **more)

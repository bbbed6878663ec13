"""Two policies on the same scenes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from harness.rows import Number, Value
from tendon.evaluation.paired import mcnemar
from tendon.evaluation.statistics import paired_difference, wilson


def outcomes_by_seed(file: Path, family: str = "") -> dict[int, bool]:
    """Returns whether each scene succeeded, by its seed, of what `tendon eval run --out` wrote; of a family, or all."""
    episodes = json.loads(file.read_text())["episodes"]
    return {each["seed"]: bool(each["success"]) for each in episodes if not family or each["family"] == family}


def paired(first: Sequence[bool], second: Sequence[bool], what: str) -> dict[str, Value]:
    """Returns by how many points the second succeeds more often on the same scenes, under a name, and McNemar's p."""
    change = paired_difference(first, second)
    return {
        what: Number(100 * change.difference, "points", 100 * change.lower, 100 * change.upper),
        "p (McNemar)": Number(mcnemar(change.first, change.second)),
    }


def success_and_change(before: Sequence[bool], found: Sequence[bool], what: str) -> dict[str, Value]:
    """Returns how often scenes succeeded, and how that compares with those before, if any."""
    success: dict[str, Value] = {"success": wilson(sum(found), len(found))}
    return success | paired(before, found, what) if before else success

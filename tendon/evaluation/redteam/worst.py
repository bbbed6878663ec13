"""The worst that was found, as a suite that anybody can run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import yaml

from tendon.evaluation.redteam.attack import Attack


def worst_of(attacks: Iterable[Attack], most: int) -> list[Attack]:
    """Returns broken limits first, then failures that took least; one a scene, at most so many."""
    bad = sorted((attack for attack in attacks if attack.failed or attack.broken), key=lambda each: each.badness)
    first: dict[int, Attack] = {}
    for attack in bad:
        first.setdefault(attack.seed, attack)
    return list(first.values())[:most]


def suite_text(worst: Iterable[Attack], *, suite: str, timing: str, delay_s: float, command: str) -> str:
    """Returns the file's text, see `tendon.evaluation.suite_file`."""
    cases: list[dict[str, Any]] = [
        {"seed": each.seed, "perturbations": each.perturbations, "found": each.found} for each in worst
    ]
    content = {"suite": suite, "timing": timing, "delay_s": delay_s, "cases": cases}
    return f"# Found by: {command}\n" + yaml.safe_dump(content, sort_keys=False, width=120)

"""Episodes to a summary: success with intervals, per family, and how smooth the motion was."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from tendon.evaluation.episode import Episode
from tendon.evaluation.statistics import wilson


def summarise(episodes: Sequence[Episode], families: Sequence[str]) -> dict[str, Any]:
    """Returns success over all and per family, and motion statistics, as plain values.

    Args:
        episodes: of one suite.
        families: of its tasks.

    Raises:
        ValueError: no episodes.
    """
    overall = wilson(sum(e.success for e in episodes), len(episodes))
    groups = {}
    for family in families:
        group = [e for e in episodes if e.family == family]
        if group:
            groups[family] = asdict(wilson(sum(e.success for e in group), len(group)))
    durations = [e.duration_s for e in episodes if e.success]
    return {
        "success": asdict(overall),
        "families": groups,
        "seeds": [min(e.seed for e in episodes), max(e.seed for e in episodes)],
        "median_duration_s": float(np.median(durations)) if durations else None,
        "peak_acceleration": max(e.peak_acceleration for e in episodes),
        "mean_rms_jerk": float(np.mean([e.rms_jerk for e in episodes])),
        "mean_peak_jump_rad": float(np.mean([e.peak_jump for e in episodes])),
        "mean_stopped_share": float(np.mean([e.stopped_share for e in episodes])),
    }


def lines(summary: dict[str, Any]) -> list[str]:
    """Returns the summary as lines for a terminal."""

    def rate(part: dict[str, Any]) -> str:
        return (
            f"{100 * part['successes'] / part['total']:5.1f} %  95 % Wilson [{100 * part['lower']:.1f}, "
            f"{100 * part['upper']:.1f}]  {part['successes']}/{part['total']}"
        )

    rows = [f"  {family:8} {rate(part)}" for family, part in summary["families"].items()]
    duration = summary["median_duration_s"]
    return [
        *rows,
        f"  {'all':8} {rate(summary['success'])}",
        f"  median time to success {duration:.1f} s" if duration is not None else "  no success",
        f"  commanded acceleration at most {100 * summary['peak_acceleration']:.1f} % of the limit, "
        f"rms jerk {summary['mean_rms_jerk']:.0f} rad/s^3, target jump at chunk switches "
        f"{1e3 * summary['mean_peak_jump_rad']:.1f} mrad, "
        f"without target {100 * summary['mean_stopped_share']:.1f} % of ticks",
    ]

"""A recorded run as plain values: what was done, how fast everything was, and on what it ran."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any

import numpy as np

from tendon.core.machine import machine, versions
from tendon.demo.measurements import measure
from tendon.demo.recording import Attempt, Outcome, Recording
from tendon.sim.tabletop.phrases import parse_instruction
from tendon.sim.tabletop.scene import Scene
from tendon.sim.tabletop.tasks import destination

FORMAT = 1


def summarise_run(recording: Recording, scene: Scene, policy: Mapping[str, str]) -> dict[str, Any]:
    """Returns the summary; `done` says whether every instruction went as it should.

    Args:
        recording: of the run.
        scene: where it was.
        policy: what it is called, where it is, its digest.
    """
    return {
        "format": FORMAT,
        "done": all(attempt.outcome.good for attempt in recording.attempts),
        "date": datetime.fromtimestamp(recording.begin_ns * 1e-9, timezone.utc).isoformat(timespec="seconds"),
        "duration_s": round((recording.end_ns - recording.begin_ns) * 1e-9, 2),
        "scene": {"seed": scene.seed, "family": scene.task.family, "items": [item.name for item in scene.items]},
        "policy": dict(policy),
        "instructions": [_instruction(recording, scene, attempt) for attempt in recording.attempts],
        "measured": measure(recording),
        "machine": machine(),
        "versions": versions(),
    }


def _instruction(recording: Recording, scene: Scene, attempt: Attempt) -> dict[str, Any]:
    row: dict[str, Any] = {
        "instruction": attempt.instruction,
        "outcome": attempt.outcome.value,
        "success": attempt.outcome is Outcome.DONE,
        "begin_s": round((attempt.begin_ns - recording.begin_ns) * 1e-9, 2),
        "duration_s": round(attempt.duration_s, 2),
        "target_from_goal_m": _target_from_goal_m(recording, scene, attempt),
    }
    if attempt.reason:
        row["reason"] = attempt.reason
    if attempt.approach is not None:
        seen = attempt.approach
        row["on_the_way"] = {
            "tool_to_object_at_begin_m": round(seen.begin_m, 3),
            "tool_to_object_at_switch_m": round(seen.distance_m, 3),
            "speed_toward_object_m_s": round(seen.speed_m_s, 3),
            "speed_toward_next_object_m_s": round(seen.other_speed_m_s, 3),
        }
    return row


def _target_from_goal_m(recording: Recording, scene: Scene, attempt: Attempt) -> float | None:
    """How far, seen from above, the target was from where it should go when the attempt ended."""
    task = parse_instruction(scene.items, attempt.instruction)
    place = bisect_right([state.time_ns for state in recording.worlds], attempt.end_ns) - 1
    if task is None or task.reference is None or place < 0:
        return None
    positions = {i: np.array(pose[:3]) for i, pose in enumerate(recording.worlds[place].poses)}
    away = (positions[task.target] - destination(scene.items, task, positions))[:2]
    return round(float(np.hypot(*away)), 4)

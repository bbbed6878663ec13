"""What the expert would do over a horizon, so that one label is a whole action chunk.

There is no physics in it: the tool moves inside a limit of acceleration, and objects follow the fingers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from tendon.core.types import Array
from tendon.sim.tabletop.expert.decide import CLOSED, PUSHING, SPEED, Decision, ExpertState, Vector, decide
from tendon.sim.tabletop.items import DRAWER_TRAVEL, HANDLE_STANDOFF, MOVABLE
from tendon.sim.tabletop.scene import Scene
from tendon.sim.tabletop.tasks import Task

ACCELERATION = 2.5
"""Largest of the tool [m/s^2]."""
GAIN = 5.0
"""Speed toward the goal for each metre of distance [1/s]."""
FINGER_SPEED = 0.09
"""Of one finger [m/s]."""
SUBSTEP_S = 0.025


@dataclass
class Rollout:
    """A label: (T, 4) rows of tool position and finger target [m], and the state after them."""

    actions: Array
    final: ExpertState
    states: list[ExpertState] = field(default_factory=list)


def advance(scene: Scene, state: ExpertState, decision: Decision, step_s: float) -> ExpertState:
    """Returns the state after the tool moved toward a decision: acceleration-limited, objects follow."""
    tool, velocity = state.tool, state.velocity
    gx, gy, gz = (decision.goal[k] - tool[k] for k in range(3))
    away = math.hypot(gx, gy)
    share = min(decision.speed, GAIN * away) / away if away > 1e-9 else 0.0
    wanted = (share * gx, share * gy, min(max(GAIN * gz, -SPEED), SPEED))
    change = [wanted[k] - velocity[k] for k in range(3)]
    size = math.sqrt(sum(c * c for c in change))
    scale = min(1.0, ACCELERATION * step_s / size) if size > 1e-9 else 1.0
    v = (velocity[0] + scale * change[0], velocity[1] + scale * change[1], velocity[2] + scale * change[2])
    moved = tuple(0.5 * (velocity[k] + v[k]) * step_s for k in range(3))
    place = (tool[0] + moved[0], tool[1] + moved[1], tool[2] + moved[2])
    stroke = min(max(decision.finger - state.finger, -FINGER_SPEED * step_s), FINGER_SPEED * step_s)
    finger = state.finger + stroke
    held, items, opening = state.held, dict(state.items), state.opening
    if held is not None and decision.finger > state.finger + 0.004:
        held = None
        released = scene.items[state.held] if state.held is not None else None
        if released is not None and released.kind != "drawer" and state.held is not None:
            items[state.held] = _settle(scene, items, state.held)
    if held is None and decision.finger < finger + 1e-6 and decision.finger == CLOSED:
        held = _between_fingers(scene, items, place, finger)
    if held is not None:
        half = 0.008 if scene.items[held].kind == "drawer" else scene.items[held].size / 2
        finger = max(finger, half)
        x, y, z = items[held]
        if scene.items[held].kind == "drawer":
            opening = min(max(opening - moved[0], 0.0), DRAWER_TRAVEL)
            items[held] = (scene.items[held].position[0] - HANDLE_STANDOFF - opening, y, z)
        else:
            items[held] = (x + moved[0], y + moved[1], max(z + moved[2], scene.items[held].height / 2))
    elif place[2] < 0.04 and decision.finger == PUSHING:
        _shove(scene, items, place, moved)
    return ExpertState(
        tool=place, velocity=v, finger=finger, items=items, held=held, opening=opening, lifted=state.lifted
    )


def _settle(scene: Scene, items: Mapping[int, Vector], index: int) -> Vector:
    """Returns where an item comes to rest when it is let go: on what lies under it."""
    x, y, _ = items[index]
    floor = 0.0
    for i, (ix, iy, iz) in items.items():
        other = scene.items[i]
        if i == index or other.kind in ("drawer", "zone"):
            continue
        if math.hypot(ix - x, iy - y) < other.size / 2:
            top = iz + other.height / 2
            floor = max(floor, 0.006 if other.kind in ("bowl", "bin") else top)
    return x, y, floor + scene.items[index].height / 2


def _between_fingers(scene: Scene, items: Mapping[int, Vector], tool: Vector, finger: float) -> int | None:
    for i, (x, y, z) in items.items():
        item = scene.items[i]
        half = 0.008 if item.kind == "drawer" else item.size / 2
        graspable = item.kind in MOVABLE or item.kind == "drawer"
        reach = 0.03 if item.kind == "drawer" else item.height / 2
        if graspable and math.hypot(x - tool[0], y - tool[1]) < 0.018 and abs(z - tool[2]) < reach:
            return i if finger <= half + 0.001 else None
    return None


def _shove(scene: Scene, items: dict[int, Vector], tool: Vector, moved: tuple[float, ...]) -> None:
    for i, (x, y, z) in items.items():
        item = scene.items[i]
        gap = item.size / 2 + (0.009 if item.kind == "cube" else 0.003)
        if item.kind in MOVABLE and math.hypot(x - tool[0], y - tool[1]) < gap and z < 0.05:
            items[i] = (x + moved[0], y + moved[1], z)


def rollout(scene: Scene, state: ExpertState, task: Task, rows: int, step_s: float) -> Rollout:
    """Returns what the expert would do from a state over a horizon.

    Args:
        scene: the scene.
        state: where to start.
        task: what to do.
        rows: how many action rows.
        step_s: time between rows; row 0 is due one step after the state.
    """
    actions = np.empty((rows, 4))
    states = []
    substeps = round(step_s / SUBSTEP_S)
    for row in range(rows):
        for _ in range(substeps):
            decision = decide(scene, state, task)
            state = advance(scene, state, decision, SUBSTEP_S)
        actions[row] = (*state.tool, decision.finger)
        states.append(state)
    return Rollout(actions, replace(state), states)

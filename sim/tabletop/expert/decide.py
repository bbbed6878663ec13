"""The scripted expert: a reactive controller of tool and fingers.

`decide` looks only at the state, never at a phase counter, so it labels any state a learner wanders into (DAgger)
and any instruction in any state (counterfactual labels).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tendon.core.types import Array
from tendon.sim.tabletop.items import DRAWER_TRAVEL
from tendon.sim.tabletop.scene import Scene
from tendon.sim.tabletop.tasks import Task, destination, is_done
from tendon.sim.tabletop.world import World

Vector = tuple[float, float, float]

PUSH_Z = 0.028
OPEN, CLOSED, PUSHING = 0.04, 0.0, 0.015
SPEED = 0.40
PUSH_SPEED = 0.16
PUSH_DEPTH = 0.03
RELEASE_RADIUS = 0.025


@dataclass(frozen=True, kw_only=True)
class ExpertState:
    """What the expert looks at. Positions in the base frame [m].

    Attributes:
        tool: tool position.
        velocity: tool velocity [m/s].
        finger: half the distance between the fingers [m].
        items: centre of each item; of a drawer, its handle's post.
        held: the item between the fingers.
        opening: of the drawer [m].
        lifted: see `tasks.is_done`.
    """

    tool: Vector
    velocity: Vector
    finger: float
    items: Mapping[int, Vector]
    held: int | None
    opening: float
    lifted: float = 0.0


@dataclass(frozen=True)
class Decision:
    """Where the tool should go, how fast at most, and where the fingers should be."""

    goal: Vector
    finger: float
    speed: float = SPEED


def observe_state(world: World, tool: Array, velocity: Array) -> ExpertState:
    """Returns the privileged state of a world."""
    items = {i: to_vector(p) for i, p in world.item_positions().items()}
    return ExpertState(
        tool=to_vector(tool),
        velocity=to_vector(velocity),
        finger=world.half_width(),
        items=items,
        held=world.held(),
        opening=world.opening(),
        lifted=world.lifted,
    )


def to_vector(array: Array) -> Vector:
    """Returns the first three numbers of an array as plain floats, which are faster one by one."""
    return float(array[0]), float(array[1]), float(array[2])


def _funnel(scene: Scene, state: ExpertState, goal: Vector, slope: float = 2.5, mouth: float = 0.014) -> Vector:
    """Returns a waypoint that keeps the tool above a cone over the goal, so that it comes down from above."""
    away = math.hypot(goal[0] - state.tool[0], goal[1] - state.tool[1])
    floor = goal[2] + min(max(away - mouth, 0.0) * slope, max(scene.layout.hover_z - goal[2], 0.0))
    below = floor - state.tool[2]
    share = 1.0 if away < mouth * 1.5 else min(max(1.0 - below / 0.05, 0.0), 1.0)
    x = state.tool[0] + share * (goal[0] - state.tool[0])
    y = state.tool[1] + share * (goal[1] - state.tool[1])
    return x, y, floor


def _near(state: ExpertState, goal: Vector, aside: float, above: float) -> bool:
    away = math.hypot(goal[0] - state.tool[0], goal[1] - state.tool[1])
    return away < aside and abs(goal[2] - state.tool[2]) < above


def _retreat(scene: Scene, state: ExpertState) -> Decision:
    """Opens in place, then rises."""
    z = scene.layout.retreat_z
    if state.finger < 0.033 and state.tool[2] < z - 0.03:
        return Decision(state.tool, OPEN)
    return Decision((state.tool[0], state.tool[1], z), OPEN)


def _grasp(scene: Scene, state: ExpertState, point: Vector, aside: float = 0.018) -> Decision:
    """Comes down over a point with open fingers and closes them when no further than `aside` from it."""
    if _near(state, point, aside, 0.013):
        return Decision(point, CLOSED)
    low = state.tool[2] < point[2] + 0.05
    if state.finger < 0.033 and low:
        return Decision((state.tool[0], state.tool[1], point[2] + 0.09), OPEN)
    if state.finger < 0.033:
        waypoint = _funnel(scene, state, (point[0], point[1], point[2] + 0.07))
        return Decision(waypoint, OPEN)
    return Decision(_funnel(scene, state, point), OPEN)


def _release(scene: Scene, state: ExpertState, place: Vector) -> Decision:
    """Carries what is held over a place, lowers it and opens."""
    if _near(state, place, 0.016, 0.012):
        return Decision(place, OPEN)
    return Decision(_funnel(scene, state, place), CLOSED)


def _push(scene: Scene, state: ExpertState, task: Task) -> Decision:
    """Goes behind the object with narrow fingers and pushes it along the line to the zone."""
    item, here = scene.items[task.target], state.items[task.target]
    zone = state.items[task.reference if task.reference is not None else task.target]
    dx, dy = zone[0] - here[0], zone[1] - here[1]
    distance = math.hypot(dx, dy)
    ux, uy = (dx / distance, dy / distance) if distance > 1e-3 else (1.0, 0.0)
    gap = item.size / 2 + 0.012
    rx, ry = state.tool[0] - here[0], state.tool[1] - here[1]
    along, aside = rx * ux + ry * uy, -rx * uy + ry * ux
    low = abs(state.tool[2] - PUSH_Z) < 0.012
    if low and along < -0.5 * gap and abs(aside) < 0.02:
        goal = (zone[0] - ux * gap * 0.6, zone[1] - uy * gap * 0.6)
        pull = min(max(-aside / 0.01, -1.0), 1.0) * 0.35
        step = min(max(distance + 0.02, 0.02), 0.06)
        x = state.tool[0] + step * (ux - pull * uy)
        y = state.tool[1] + step * (uy + pull * ux)
        if distance < 0.05:
            x, y = goal
        return Decision((x, y, PUSH_Z), PUSHING, PUSH_SPEED)
    behind = (here[0] - ux * (gap + 0.03), here[1] - uy * (gap + 0.03), PUSH_Z)
    return Decision(_funnel(scene, state, behind, slope=3.0), PUSHING)


def _still_pushes(state: ExpertState, task: Task) -> bool:
    """Returns whether a push is under way that has only just crossed the zone's edge.

    A rollout has objects a few millimetres ahead of the real ones, so a push that ended at the edge itself would
    leave some outside for ever, retreating and coming back.
    """
    here, zone = state.items[task.target], state.items[task.reference if task.reference is not None else task.target]
    beside = math.hypot(state.tool[0] - here[0], state.tool[1] - here[1]) < 0.05
    inside = max(abs(zone[0] - here[0]), abs(zone[1] - here[1])) < PUSH_DEPTH
    return abs(state.tool[2] - PUSH_Z) < 0.012 and beside and not inside


def _slide_drawer(scene: Scene, state: ExpertState, task: Task) -> Decision:
    handle = state.items[task.target]
    if state.held != task.target:
        return _grasp(scene, state, (handle[0], handle[1], 0.055), aside=0.009)
    target = DRAWER_TRAVEL + 0.005 if task.relation == "open" else -0.005
    return Decision((state.tool[0] + state.opening - target, handle[1], 0.055), CLOSED, 0.25)


def decide(scene: Scene, state: ExpertState, task: Task) -> Decision:
    """Returns what to do now for a task, from the state alone."""
    positions = {i: np.array(p) for i, p in state.items.items()}
    done = is_done(
        scene.items, task, positions, state.opening, None if task.relation != "lift" else state.held, state.lifted
    )
    if task.relation == "lift" and state.held == task.target:
        return Decision((state.tool[0], state.tool[1], scene.layout.lift_z), CLOSED)
    finger_still_holds = state.held == task.target and task.relation != "lift"
    if task.relation == "push" and done and state.held is None and _still_pushes(state, task):
        done = False
    if done and not (finger_still_holds and not _may_let_go(scene, state, task)):
        return _retreat(scene, state)
    if state.held is not None and (state.held != task.target or task.relation == "push"):
        item = scene.items[state.held]
        if item.kind == "drawer":
            return _retreat(scene, state)
        bottom = state.items[state.held][2] - item.height / 2
        if bottom > 0.008 and state.tool[2] > 0.04:
            return Decision((state.tool[0], state.tool[1], state.tool[2] - bottom), CLOSED)
        return _retreat(scene, state)
    if task.family == "drawer":
        return _slide_drawer(scene, state, task)
    if task.relation == "push":
        return _push(scene, state, task)
    here = state.items[task.target]
    if state.held != task.target:
        return _grasp(scene, state, (here[0], here[1], max(here[2], 0.02)))
    goal = destination(scene.items, task, positions)
    shift = (state.tool[0] - here[0], state.tool[1] - here[1], state.tool[2] - here[2])
    drop = 0.012 if task.relation == "in" else 0.004
    return _release(scene, state, (goal[0] + shift[0], goal[1] + shift[1], goal[2] + shift[2] + drop))


def _may_let_go(scene: Scene, state: ExpertState, task: Task) -> bool:
    """Returns whether what is held is low enough over its goal to let go, and near enough for the fingers to open.

    A drawer is let go well past what counts as open or closed: a learner ends a motion a little early.
    """
    if task.family == "drawer":
        return state.opening > DRAWER_TRAVEL - 0.006 if task.relation == "open" else state.opening < 0.005
    goal = destination(scene.items, task, {i: np.array(p) for i, p in state.items.items()})
    x, y, z = state.items[task.target]
    return z - float(goal[2]) < 0.014 and math.hypot(x - float(goal[0]), y - float(goal[1])) < RELEASE_RADIUS

"""The scripted expert: a reactive controller of tool and fingers, rolled out kinematically into labels.

`decide` looks only at the state, never at a phase counter, so it labels any state a learner wanders into (DAgger)
and any instruction in any state (counterfactual labels). `rollout` predicts what it would do over a horizon, with
objects that follow the fingers, so that one label is a whole action chunk.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from tendon.core.types import Array
from tendon.sim.scene import DRAWER_TRAVEL, HANDLE_STANDOFF, MOVABLE, Scene, Task
from tendon.sim.tasks import destination, is_done
from tendon.sim.world import World

Vector = tuple[float, float, float]

HOVER_Z = 0.15
RETREAT_Z = 0.24
LIFT_Z = 0.20
PUSH_Z = 0.028
OPEN, CLOSED, PUSHING = 0.04, 0.0, 0.015
SPEED, ACCELERATION, GAIN = 0.40, 2.5, 5.0
PUSH_SPEED = 0.16
PUSH_DEPTH = 0.03
RELEASE_RADIUS = 0.025
FINGER_SPEED = 0.09
SUBSTEP_S = 0.025


@dataclass(frozen=True, kw_only=True)
class ExpertState:
    """What the expert looks at. Positions in the base frame [m].

    Attributes:
        tool: tool position.
        velocity: tool velocity [m/s].
        finger: finger position, half the opening [m].
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


@dataclass
class Rollout:
    """A label: (T, 4) rows of tool position and finger target [m], and the state after them."""

    actions: Array
    final: ExpertState
    states: list[ExpertState] = field(default_factory=list)


def observe_state(world: World, tool: Array, velocity: Array) -> ExpertState:
    """Returns the privileged state of a world."""
    position, _ = world.joint_state()
    items = {i: to_vector(p) for i, p in world.item_positions().items()}
    return ExpertState(
        tool=to_vector(tool),
        velocity=to_vector(velocity),
        finger=float(position[-1]),
        items=items,
        held=world.held(),
        opening=world.opening(),
        lifted=world.lifted,
    )


def to_vector(array: Array) -> Vector:
    """Returns the first three numbers of an array as plain floats, which are faster one by one."""
    return float(array[0]), float(array[1]), float(array[2])


def _funnel(state: ExpertState, goal: Vector, slope: float = 2.5, mouth: float = 0.014) -> Vector:
    """Returns a waypoint that keeps the tool above a cone over the goal, so that it comes down from above."""
    away = math.hypot(goal[0] - state.tool[0], goal[1] - state.tool[1])
    floor = goal[2] + min(max(away - mouth, 0.0) * slope, max(HOVER_Z - goal[2], 0.0))
    below = floor - state.tool[2]
    share = 1.0 if away < mouth * 1.5 else min(max(1.0 - below / 0.05, 0.0), 1.0)
    x = state.tool[0] + share * (goal[0] - state.tool[0])
    y = state.tool[1] + share * (goal[1] - state.tool[1])
    return x, y, floor


def _near(state: ExpertState, goal: Vector, aside: float, above: float) -> bool:
    away = math.hypot(goal[0] - state.tool[0], goal[1] - state.tool[1])
    return away < aside and abs(goal[2] - state.tool[2]) < above


def _retreat(state: ExpertState, z: float = RETREAT_Z) -> Decision:
    """Opens in place, then rises."""
    if state.finger < 0.033 and state.tool[2] < z - 0.03:
        return Decision(state.tool, OPEN)
    return Decision((state.tool[0], state.tool[1], z), OPEN)


def _grasp(state: ExpertState, point: Vector, aside: float = 0.018) -> Decision:
    """Comes down over a point with open fingers and closes them when no further than `aside` from it."""
    if _near(state, point, aside, 0.013):
        return Decision(point, CLOSED)
    low = state.tool[2] < point[2] + 0.05
    if state.finger < 0.033 and low:
        return Decision((state.tool[0], state.tool[1], point[2] + 0.09), OPEN)
    if state.finger < 0.033:
        waypoint = _funnel(state, (point[0], point[1], point[2] + 0.07))
        return Decision(waypoint, OPEN)
    return Decision(_funnel(state, point), OPEN)


def _release(state: ExpertState, place: Vector) -> Decision:
    """Carries what is held over a place, lowers it and opens."""
    if _near(state, place, 0.016, 0.012):
        return Decision(place, OPEN)
    return Decision(_funnel(state, place), CLOSED)


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
    return Decision(_funnel(state, behind, slope=3.0), PUSHING)


def _still_pushes(state: ExpertState, task: Task) -> bool:
    """Returns whether a push is under way that has only just crossed the zone's edge.

    A rollout has objects a few millimetres ahead of the real ones, so a push that ended at the edge itself would
    leave some outside for ever, retreating and coming back.
    """
    here, zone = state.items[task.target], state.items[task.reference if task.reference is not None else task.target]
    beside = math.hypot(state.tool[0] - here[0], state.tool[1] - here[1]) < 0.05
    inside = max(abs(zone[0] - here[0]), abs(zone[1] - here[1])) < PUSH_DEPTH
    return abs(state.tool[2] - PUSH_Z) < 0.012 and beside and not inside


def _slide_drawer(state: ExpertState, task: Task) -> Decision:
    handle = state.items[task.target]
    if state.held != task.target:
        return _grasp(state, (handle[0], handle[1], 0.055), aside=0.009)
    target = DRAWER_TRAVEL + 0.005 if task.relation == "open" else -0.005
    return Decision((state.tool[0] + state.opening - target, handle[1], 0.055), CLOSED, 0.25)


def decide(scene: Scene, state: ExpertState, task: Task) -> Decision:
    """Returns what to do now for a task, from the state alone."""
    positions = {i: np.array(p) for i, p in state.items.items()}
    done = is_done(scene, task, positions, state.opening, None if task.relation != "lift" else state.held, state.lifted)
    if task.relation == "lift" and state.held == task.target:
        return Decision((state.tool[0], state.tool[1], LIFT_Z), CLOSED)
    finger_still_holds = state.held == task.target and task.relation != "lift"
    if task.relation == "push" and done and state.held is None and _still_pushes(state, task):
        done = False
    if done and not (finger_still_holds and not _may_let_go(scene, state, task)):
        return _retreat(state)
    if state.held is not None and (state.held != task.target or task.relation == "push"):
        item = scene.items[state.held]
        if item.kind == "drawer":
            return _retreat(state)
        bottom = state.items[state.held][2] - item.height / 2
        if bottom > 0.008 and state.tool[2] > 0.04:
            return Decision((state.tool[0], state.tool[1], state.tool[2] - bottom), CLOSED)
        return _retreat(state)
    if task.family == "drawer":
        return _slide_drawer(state, task)
    if task.relation == "push":
        return _push(scene, state, task)
    here = state.items[task.target]
    if state.held != task.target:
        return _grasp(state, (here[0], here[1], max(here[2], 0.02)))
    goal = destination(scene, task, positions)
    shift = (state.tool[0] - here[0], state.tool[1] - here[1], state.tool[2] - here[2])
    drop = 0.012 if task.relation == "in" else 0.004
    return _release(state, (goal[0] + shift[0], goal[1] + shift[1], goal[2] + shift[2] + drop))


def _may_let_go(scene: Scene, state: ExpertState, task: Task) -> bool:
    """Returns whether what is held is low enough over its goal to let go, and near enough for the fingers to open.

    A drawer is let go well past what counts as open or closed: a learner ends a motion a little early.
    """
    if task.family == "drawer":
        return state.opening > DRAWER_TRAVEL - 0.006 if task.relation == "open" else state.opening < 0.005
    goal = destination(scene, task, {i: np.array(p) for i, p in state.items.items()})
    x, y, z = state.items[task.target]
    return z - float(goal[2]) < 0.014 and math.hypot(x - float(goal[0]), y - float(goal[1])) < RELEASE_RADIUS


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

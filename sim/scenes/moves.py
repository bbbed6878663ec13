"""What one hand does next: grip a thing from above, carry it somewhere, let go, get out of the way.

Each looks only at where things are now, never at what was done before, so that it goes on from anywhere.
"""

from __future__ import annotations

import numpy as np

from tendon.core.types import Array
from tendon.sim.scenes.hands import CLOSED, Hand, Lead
from tendon.sim.scenes.jaws import CLEAR_M

MOUTH_M, SLOPE = 0.012, 3.0
"""A tool comes down inside a cone over its goal: how wide that is at the goal, and how steep."""
ABOVE_M = 0.06
"""From which height on a hand that comes down must be open."""
OPEN_SHARE = 0.85
"""Of its width, from which on a hand counts as open."""
AT_M = 0.006
"""From a goal, where a hand closes or opens."""
STRAIGHT_RAD = 0.05
"""Between a thing and the fingers, when a hand closes."""
PRESSES = 2.0
"""How many times `CLEAR_M` a still jaw is led into a thing that another hand holds, so that it bears load."""
MET_M = 0.0015
"""Of `Hand.finger`, from which on nothing is between the fingers."""


def above(place: Array, height: float) -> Array:
    """Returns the place (3,) that is so much higher [m]."""
    return np.array([*place[:2], place[2] + height])


def come_down(hand: Hand, goal: Array, hover: float, mouth: float = MOUTH_M, slope: float = SLOPE) -> Array:
    """Returns a waypoint (3,) on the way to a goal that is reached from above.

    Args:
        hand: which.
        goal: (3,) [m].
        hover: height of the way there [m].
        mouth: how far aside it may be at the goal's height [m].
        slope: how much higher it is for each metre that it is further aside.
    """
    away = float(np.hypot(*(goal - hand.tool)[:2]))
    floor = float(goal[2]) + min(max(away - mouth, 0.0) * slope, max(hover - float(goal[2]), 0.0))
    share = 1.0 if away < 1.5 * mouth else min(max(1.0 - (floor - float(hand.tool[2])) / 0.05, 0.0), 1.0)
    x, y = hand.tool[:2] + share * (goal - hand.tool)[:2]
    return np.array([x, y, floor])


def is_at_grip(hand: Hand, point: Array) -> bool:
    """Returns whether a hand may close: it is at the point (3,), or closing with the point between its fingers.

    One finger pushes a thing along until the other one meets it; fingers that have met have missed it.
    """
    x, y, z = np.abs(point + hand.aside - hand.tool)
    closing = MET_M < hand.finger < OPEN_SHARE * hand.widest
    straight = closing or abs(hand.yaw - hand.askew) < STRAIGHT_RAD
    return bool(straight and max(x, z) < 2 * AT_M and y < (hand.widest if closing else AT_M))


def close(hand: Hand, point: Array) -> Lead:
    """Returns how a hand closes at the height of a point."""
    return Lead(goal=np.array([*hand.tool[:2], point[2]]), finger=CLOSED)


def press(hand: Hand, point: Array) -> Lead:
    """Returns how a hand closes on what others hold too: a jaw that stands still comes to meet it."""
    way = np.zeros(3) if hand.holds else PRESSES * _to_thing(hand)
    return Lead(goal=np.array([*hand.tool[:2], point[2]]) + way, finger=CLOSED)


def approach(hand: Hand, point: Array, hover: float) -> Lead:
    """Returns how a hand comes to a point (3,) from above, open."""
    if hand.finger < OPEN_SHARE * hand.widest and hand.tool[2] < point[2] + ABOVE_M:
        return Lead(goal=above(hand.tool, 0.05), finger=hand.widest)
    goal = come_down(hand, point + hand.aside, max(hover, float(point[2]) + ABOVE_M))
    return Lead(goal=goal, finger=hand.widest, yaw=hand.askew)


def grip(hand: Hand, point: Array, hover: float) -> Lead:
    """Returns how a hand goes on to grip what is at a point (3,)."""
    return close(hand, point) if is_at_grip(hand, point) else approach(hand, point, hover)


def carry(hand: Hand, thing: Array, to: Array, hover: float, mouth: float = MOUTH_M, slope: float = SLOPE) -> Lead:
    """Returns how a hand goes on to bring the thing that it holds to a place (3,), its foot first, straight."""
    goal = come_down(hand, to + (hand.tool - thing) - hand.lean, hover, mouth, slope)
    return Lead(goal=goal, finger=CLOSED, yaw=hand.yaw - hand.askew)


def _to_thing(hand: Hand) -> Array:
    """Returns a short way (3,) of the tool that brings a jaw that stands still to the thing; zeros where both move."""
    away = float(np.linalg.norm(hand.aside))
    return CLEAR_M / away * hand.aside if away else np.zeros(3)


def let_go(hand: Hand) -> Lead:
    """Returns how a hand opens where it is; a jaw that stands still draws back from the thing."""
    return Lead(goal=hand.tool - _to_thing(hand), finger=hand.widest)


def leave(hand: Hand, hover: float) -> Lead:
    """Returns how a hand opens, rises, and goes to where it rests."""
    if hand.finger < OPEN_SHARE * hand.widest and hand.tool[2] < hover:
        return let_go(hand)
    aside = hand.rest - hand.tool
    if hand.tool[2] < hover - 0.02:
        aside = np.array([0.0, 0.0, hover - hand.tool[2]])
    return Lead(goal=hand.tool + aside, finger=hand.widest, yaw=0.0)


def is_at(thing: Array, goal: Array, aside: float, above: float) -> bool:
    """Returns whether a thing is within so much of a goal [m]."""
    return bool(np.hypot(*(thing - goal)[:2]) < aside and abs(thing[2] - goal[2]) < above)

"""What the two hands do, from where things are now."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tendon.core.types import Array
from tendon.sim.bimanual.tasks import LIFTED_M, lies_in_zone, zone
from tendon.sim.scenes.hands import CLOSED, Hand, Lead, Moment
from tendon.sim.scenes.moves import above, approach, carry, come_down, grip, is_at, is_at_grip, leave, let_go, press
from tendon.sim.scenes.scene import DescribedScene

HIGHER = 1.4
"""Than what counts as lifted."""
EXCHANGE = (0.47, 0.0, 0.17)
"""Where the bar changes hands, at scale 1, on the stage."""
DROP_M = 0.003
"""Above the table, where the bar is let go."""
STILL_M_S = 0.03


def script(scene: DescribedScene, moment: Moment) -> Sequence[Lead]:
    """Returns what each hand does now; the left one is the first."""
    return _lift(scene, moment) if scene.task.family == "lift" else _hand_over(scene, moment)


def _lift(scene: DescribedScene, moment: Moment) -> Sequence[Lead]:
    item = scene.items[0]
    if not all(hand.holds for hand in moment.hands):
        ends = list(zip(moment.hands, moment.grips, strict=True))
        # Both close at once, and one that holds waits for the other: the tray stays where it is, and level.
        if all(hand.holds or is_at_grip(hand, point) for hand, point in ends):
            return [press(hand, point) for hand, point in ends]
        return [
            Lead(goal=hand.tool, finger=CLOSED) if hand.holds else approach(hand, point, scene.stage.hover)
            for hand, point in ends
        ]
    up = item.height + HIGHER * LIFTED_M * scene.stage.scale - float(moment.thing[2])
    return [Lead(goal=above(hand.tool, up), finger=CLOSED) for hand in moment.hands]


def _hand_over(scene: DescribedScene, moment: Moment) -> Sequence[Lead]:
    (giver, taker), bar = moment.hands, moment.thing
    for_taker, for_giver = moment.grips
    hover, exchange = scene.stage.hover, _exchange(scene)
    if lies_in_zone(scene, bar) and not giver.holds and not _hinders(taker, scene):
        return leave(giver, hover), leave(taker, hover)
    if giver.holds and taker.holds:
        return let_go(giver), Lead(goal=taker.tool, finger=CLOSED)
    if giver.holds:
        there = is_at(bar, exchange, 0.02, 0.02) and float(np.linalg.norm(giver.velocity)) < STILL_M_S
        takes = grip(taker, for_taker, float(exchange[2]) + 0.1) if there else _wait(taker)
        return carry(giver, bar, exchange, float(exchange[2])), takes
    if taker.holds:
        if giver.tool[2] < bar[2] + 0.05 and abs(giver.tool[1] - bar[1]) < 0.1:
            return _rise(giver), Lead(goal=taker.tool, finger=CLOSED)
        goal = above(zone(scene), DROP_M)
        if is_at(bar, goal, 0.02, 0.006):
            return _wait(giver), let_go(taker)
        return _wait(giver), carry(taker, bar, goal, hover)
    if bar[1] > exchange[1] - 0.1 * scene.stage.scale:
        return grip(giver, for_giver, hover), _wait(taker)
    return _wait(giver), grip(taker, for_taker, hover)


def _exchange(scene: DescribedScene) -> Array:
    return scene.stage.scale * np.array(EXCHANGE) + [*scene.stage.origin, 0.0]


def _hinders(hand: Hand, scene: DescribedScene) -> bool:
    """Returns whether a hand still holds the bar well above the table."""
    return hand.holds and float(hand.tool[2]) > scene.stage.hover


def _wait(hand: Hand) -> Lead:
    return Lead(goal=come_down(hand, hand.rest, float(hand.rest[2])), finger=hand.widest)


def _rise(hand: Hand) -> Lead:
    if hand.finger < 0.8 * hand.widest:
        return let_go(hand)
    return Lead(goal=above(hand.tool, 0.1), finger=hand.widest)

"""What the hand does, from where things are now."""

from __future__ import annotations

from collections.abc import Sequence

from tendon.sim.assembly.tasks import is_seated, seat
from tendon.sim.scenes.hands import Lead, Moment
from tendon.sim.scenes.moves import above, carry, grip, is_at, leave, let_go
from tendon.sim.scenes.scene import DescribedScene

MOUTH_M, SLOPE = 0.0015, 20.0
"""The part comes down straight: walls and pin are 4 mm away from it."""
LET_GO_M = 0.005
"""Above where it rests, at scale 1."""


def script(scene: DescribedScene, moment: Moment) -> Sequence[Lead]:
    """Returns what the hand does now."""
    (hand,), goal, hover = moment.hands, seat(scene), scene.stage.hover
    low = LET_GO_M * scene.stage.scale
    if hand.holds:
        if is_at(moment.thing, goal, 0.008, 2 * low):
            return [let_go(hand)]
        return [carry(hand, moment.thing, above(goal, low), hover, MOUTH_M, SLOPE)]
    if is_seated(scene, moment.thing):
        return [leave(hand, hover)]
    return [grip(hand, moment.grips[0], hover)]

"""From where people look at the table, and under which light."""

from __future__ import annotations

import math

from tendon.sim.engine import Light, View
from tendon.sim.tabletop.layout import Layout

EYE, AT = (1.55, -0.85, 0.95), (0.36, 0.0, 0.31)
REACH_M = 0.72
"""Of the arm that these are for: how far away its drawer is."""
SUN = Light(direction=(0.5, -0.8, 1.6), rgb=(1.0, 1.0, 1.0), ambient=0.58)
SKY_TOP, SKY_BOTTOM = (203, 213, 224), (240, 243, 247)


def view_of(layout: Layout) -> View:
    """Returns from where all of a robot and its table are seen: nearer where the arm is shorter."""
    near = layout.drawer_x / REACH_M
    return View(
        eye=(near * EYE[0], near * EYE[1], near * EYE[2]),
        at=(near * AT[0], near * AT[1], near * AT[2]),
        up=(0.0, 0.0, 1.0),
        height_rad=math.radians(43.0),
        near=0.05,
        far=5.0,
    )

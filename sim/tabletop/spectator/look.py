"""From where people look at the table, and under which light."""

from __future__ import annotations

import math

from tendon.sim.engine import Light, View

VIEW = View(
    eye=(1.55, -0.85, 0.95),
    at=(0.36, 0.0, 0.31),
    up=(0.0, 0.0, 1.0),
    height_rad=math.radians(43.0),
    near=0.05,
    far=5.0,
)
SUN = Light(direction=(0.5, -0.8, 1.6), rgb=(1.0, 1.0, 1.0), ambient=0.58)
SKY_TOP, SKY_BOTTOM = (203, 213, 224), (240, 243, 247)

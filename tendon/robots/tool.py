"""How a tool frame is oriented: z away from the arm, y along the way fingers close."""

from __future__ import annotations

import numpy as np

from tendon.core.types import Array

TOOL_DOWN: Array = np.diag([1.0, -1.0, -1.0])
"""Rotation of the tool in the base frame when it points down."""
TOOL_DOWN.setflags(write=False)

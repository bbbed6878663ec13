"""Calibration as a suite: `tendon run suite:=calibration policy:=none` has boards, and a rig that is off."""

from __future__ import annotations

from tendon.demo.calibration.scene import FAMILY, open_world, scene_of, zeros_of
from tendon.sim.suite import Suite

CALIBRATION = Suite(
    families=(FAMILY,), scene=scene_of, world=open_world, zeros=zeros_of, perturbations=(), environment="tabletop"
)

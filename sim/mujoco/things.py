"""Bodies of a world in a MuJoCo model."""

from __future__ import annotations

import functools
import math
from pathlib import Path
from typing import Any

from tendon.sim.bodies import Body, Part, Rgb, Surface
from tendon.sim.mujoco.client import mujoco
from tendon.sim.mujoco.meshes import whole
from tendon.sim.mujoco.robot import ROBOT, THINGS
from tendon.sim.scratch import scratch_folder

SHAPES = {
    "box": mujoco.mjtGeom.mjGEOM_BOX,
    "cylinder": mujoco.mjtGeom.mjGEOM_CYLINDER,
    "mesh": mujoco.mjtGeom.mjGEOM_MESH,
}
BARE = Surface(friction=0.5)
"""Of a body that says nothing of its surface."""


def add_body(spec: Any, name: str, body: Body) -> None:
    """Adds a body to a specification; the part that slides is called NAME/slide, and so is its joint."""
    made = spec.worldbody.add_body(name=name, pos=body.position, quat=_turn(body.yaw))
    if body.mass > 0.0:
        made.add_freejoint(name=name)
    material = ""
    if body.texture is not None:
        material = f"{name}/material"
        spec.add_texture(name=f"{name}/texture", type=mujoco.mjtTexture.mjTEXTURE_CUBE, file=body.texture)
        textures = [""] * mujoco.mjtTextureRole.mjNTEXROLE
        textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = f"{name}/texture"
        spec.add_material(name=material, textures=textures)
    volumes = [math.prod(part.half) for part in body.parts]
    for part, volume in zip(body.parts, volumes, strict=True):
        if part.kind == "mesh":
            spec.add_mesh(name=f"{name}/mesh", file=str(whole(Path(part.file), _scratch())), scale=[part.unit] * 3)
        mass = body.mass * (volume / sum(volumes))
        _add_part(made, part, body.rgb, mass, body.surface or BARE, body.solid, material)
    if (slide := body.slide) is not None:
        sliding = made.add_body(name=f"{name}/slide")
        sliding.add_joint(
            name=f"{name}/slide",
            type=mujoco.mjtJoint.mjJNT_SLIDE,
            axis=slide.axis,
            limited=True,
            range=[0.0, slide.travel],
            frictionloss=slide.resistance,
            damping=slide.resistance,
        )
        for part in slide.parts:
            _add_part(sliding, part, slide.rgb, slide.mass / len(slide.parts), Surface(friction=slide.friction))
        spec.add_exclude(bodyname1=name, bodyname2=f"{name}/slide")


def _add_part(
    body: Any, part: Part, rgb: Rgb, mass: float, surface: Surface, solid: bool = True, material: str = ""
) -> None:
    x, y, z = part.half
    body.add_geom(
        type=SHAPES[part.kind],
        meshname=f"{body.name}/mesh" if part.kind == "mesh" else "",
        size=[x, z, 0.0] if part.kind == "cylinder" else [x, y, z],
        pos=part.origin,
        quat=_turn(part.yaw),
        rgba=[*rgb, 1.0],
        material=material,
        mass=max(mass, 1e-3),
        friction=[surface.friction, max(surface.spinning, 1e-4), max(surface.rolling, 1e-5)],
        condim=6 if surface.rolling else 4,
        contype=THINGS if solid else 0,
        conaffinity=ROBOT | THINGS if solid else 0,
    )


@functools.cache
def _scratch() -> Path:
    """Returns a file, which is not there, in a folder of this process."""
    return scratch_folder() / "meshes"


def _turn(yaw: float) -> list[float]:
    return [math.cos(yaw / 2), 0.0, 0.0, math.sin(yaw / 2)]

"""Bodies of a world in PyBullet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tendon.sim.bodies import Body, Part, Rgb, Slide
from tendon.sim.pybullet.client import pybullet

SHAPES = {"box": pybullet.GEOM_BOX, "cylinder": pybullet.GEOM_CYLINDER, "mesh": pybullet.GEOM_MESH}
SLIDING = 0
"""PyBullet's index of the part that slides: of its joint and its link."""


def add_body(client: int, body: Body) -> int:
    """Creates a body and returns its PyBullet id."""
    if body.slide is not None:
        made = _with_slide(client, body, body.slide)
    else:
        collision, visual = _shapes(client, body.parts, body.rgb, body.solid)
        turn = pybullet.getQuaternionFromEuler((0, 0, body.yaw))
        made = pybullet.createMultiBody(body.mass, collision, visual, body.position, turn, physicsClientId=client)
    if len(body.parts) > 1:
        pybullet.changeVisualShape(made, -1, rgbaColor=[*body.rgb, 1.0], physicsClientId=client)
    if body.texture is not None:
        texture = pybullet.loadTexture(body.texture, physicsClientId=client)
        pybullet.changeVisualShape(made, -1, textureUniqueId=texture, physicsClientId=client)
    if (surface := body.surface) is not None:
        linear, angular = surface.damping
        pybullet.changeDynamics(
            made,
            -1,
            lateralFriction=surface.friction,
            spinningFriction=surface.spinning,
            rollingFriction=surface.rolling,
            linearDamping=linear,
            angularDamping=angular,
            physicsClientId=client,
        )
    return int(made)


def _shapes(client: int, parts: Sequence[Part], rgb: Rgb, solid: bool = True) -> tuple[int, int]:
    """Returns collision and visual shape; a compound may not use more than one collision array call."""
    rgba = [*rgb, 1.0]
    if parts[0].kind == "mesh":
        return _mesh(client, parts[0], rgba, solid)
    if len(parts) == 1 and (parts[0].centre, parts[0].yaw) == ((0.0, 0.0, 0.0), 0.0):
        (part,) = parts
        kind, size = SHAPES[part.kind], {"physicsClientId": client}
        if part.kind == "cylinder":
            radius, _, half = part.half
            collision = pybullet.createCollisionShape(kind, radius=radius, height=2 * half, **size) if solid else -1
            return collision, pybullet.createVisualShape(kind, radius=radius, length=2 * half, rgbaColor=rgba, **size)
        collision = pybullet.createCollisionShape(kind, halfExtents=part.half, **size) if solid else -1
        return collision, pybullet.createVisualShape(kind, halfExtents=part.half, rgbaColor=rgba, **size)
    kinds = [SHAPES[part.kind] for part in parts]
    halves, centres = [list(part.half) for part in parts], [list(part.centre) for part in parts]
    radii, heights = [part.half[0] for part in parts], [2 * part.half[2] for part in parts]  # of cylinders only
    turns = [list(pybullet.getQuaternionFromEuler((0, 0, part.yaw))) for part in parts]
    sizes: dict[str, Any] = {"shapeTypes": kinds, "halfExtents": halves, "radii": radii, "lengths": heights}
    place = {"collisionFramePositions": centres, "collisionFrameOrientations": turns}
    drawn = {"visualFramePositions": centres, "visualFrameOrientations": turns}
    colours = [rgba] * len(parts)
    collision = pybullet.createCollisionShapeArray(**place, **sizes, physicsClientId=client) if solid else -1
    return collision, pybullet.createVisualShapeArray(**drawn, **sizes, rgbaColors=colours, physicsClientId=client)


def _mesh(client: int, part: Part, rgba: list[float], solid: bool) -> tuple[int, int]:
    turn = pybullet.getQuaternionFromEuler((0, 0, part.yaw))
    file = {"fileName": part.file, "meshScale": [part.unit] * 3, "physicsClientId": client}
    place = {"collisionFramePosition": part.origin, "collisionFrameOrientation": turn}
    drawn = {"visualFramePosition": part.origin, "visualFrameOrientation": turn, "rgbaColor": rgba}
    collision = pybullet.createCollisionShape(pybullet.GEOM_MESH, **place, **file) if solid else -1
    return collision, pybullet.createVisualShape(pybullet.GEOM_MESH, **drawn, **file)


def _with_slide(client: int, body: Body, slide: Slide) -> int:
    collision, visual = _shapes(client, body.parts, body.rgb)
    sliding, drawn = _shapes(client, slide.parts, slide.rgb)
    made = pybullet.createMultiBody(
        baseMass=body.mass,
        baseCollisionShapeIndex=collision,
        baseVisualShapeIndex=visual,
        basePosition=body.position,
        linkMasses=[slide.mass],
        linkCollisionShapeIndices=[sliding],
        linkVisualShapeIndices=[drawn],
        linkPositions=[[0, 0, 0]],
        linkOrientations=[[0, 0, 0, 1]],
        linkInertialFramePositions=[list(slide.centre_of_mass)],
        linkInertialFrameOrientations=[[0, 0, 0, 1]],
        linkParentIndices=[0],
        linkJointTypes=[pybullet.JOINT_PRISMATIC],
        linkJointAxis=[list(slide.axis)],
        physicsClientId=client,
    )
    pybullet.changeVisualShape(made, SLIDING, rgbaColor=[*slide.rgb, 1.0], physicsClientId=client)
    pybullet.changeDynamics(
        made,
        SLIDING,
        jointLowerLimit=0.0,
        jointUpperLimit=slide.travel,
        lateralFriction=slide.friction,
        physicsClientId=client,
    )
    pybullet.setCollisionFilterPair(made, made, -1, SLIDING, 0, physicsClientId=client)
    pybullet.resetJointState(made, SLIDING, slide.opening, physicsClientId=client)
    pybullet.setJointMotorControl2(
        made,
        SLIDING,
        pybullet.VELOCITY_CONTROL,
        targetVelocity=0.0,
        force=slide.resistance,
        physicsClientId=client,
    )
    return int(made)

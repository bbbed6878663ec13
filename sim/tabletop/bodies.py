"""PyBullet bodies of a scene, made of boxes and cylinders only: what TinyRenderer draws fast."""

from __future__ import annotations

import functools
import math
import tempfile
from pathlib import Path

import cv2
import numpy as np

from tendon.sim.pybullet.client import pybullet
from tendon.sim.tabletop.items import DRAWER_TRAVEL, HANDLE_STANDOFF, Item

Part = tuple[tuple[float, float, float], tuple[float, float, float], float]
"""Half extents, centre and yaw of a box in the body frame."""

WALL_HALF_THICKNESS = 0.004
"""Of bowls and bins [m]."""


def _boxes(client: int, parts: list[Part], rgb: tuple[float, float, float], mass: float, position: tuple) -> int:
    """Creates one body from several boxes; a compound may not use more than one collision array call."""
    halves = [list(half) for half, _, _ in parts]
    centres = [list(centre) for _, centre, _ in parts]
    turns = [list(pybullet.getQuaternionFromEuler((0, 0, yaw))) for _, _, yaw in parts]
    box = [pybullet.GEOM_BOX] * len(parts)
    collision = pybullet.createCollisionShapeArray(
        shapeTypes=box,
        halfExtents=halves,
        collisionFramePositions=centres,
        collisionFrameOrientations=turns,
        physicsClientId=client,
    )
    visual = pybullet.createVisualShapeArray(
        shapeTypes=box,
        halfExtents=halves,
        visualFramePositions=centres,
        visualFrameOrientations=turns,
        rgbaColors=[[*rgb, 1.0]] * len(parts),
        physicsClientId=client,
    )
    body = pybullet.createMultiBody(mass, collision, visual, position, physicsClientId=client)
    pybullet.changeVisualShape(body, -1, rgbaColor=[*rgb, 1.0], physicsClientId=client)
    return body


def container_ring(item: Item) -> tuple[int, float]:
    """Returns how many walls a bowl or bin has, and how far their middles are from its centre [m]."""
    return (8, item.size / 2 - 0.006) if item.kind == "bowl" else (4, item.size / 2 - 0.005)


def _ring(radius: float, height: float, sides: int) -> list[Part]:
    length = radius * math.tan(math.pi / sides)
    angles = [2 * math.pi * k / sides for k in range(sides)]
    thickness = WALL_HALF_THICKNESS
    return [
        ((thickness, length + 0.003, height / 2), (radius * math.cos(a), radius * math.sin(a), height / 2), a)
        for a in angles
    ]


def make_body(client: int, item: Item) -> int:
    """Creates the body of an item at its place and returns its PyBullet id."""
    if item.kind == "drawer":
        return _drawer(client, item)
    half, rgba = item.size / 2, [*item.rgb, 1.0]
    if item.kind in ("bowl", "bin"):
        sides, radius = container_ring(item)
        base = ((half - 0.012, half - 0.012, 0.003), (0.0, 0.0, 0.003), 0.0)
        if item.kind == "bowl":
            base = ((half * 0.66, half * 0.66, 0.003), (0.0, 0.0, 0.003), 0.0)
        x, y, _ = item.position
        return _boxes(client, [base, *_ring(radius, item.height, sides)], item.rgb, 0.0, (x, y, 0.0))
    if item.kind in ("cylinder", "plate"):
        shape = {"radius": half, "physicsClientId": client}
        collision = pybullet.createCollisionShape(pybullet.GEOM_CYLINDER, height=item.height, **shape)
        visual = pybullet.createVisualShape(pybullet.GEOM_CYLINDER, length=item.height, rgbaColor=rgba, **shape)
    else:
        extents = {"halfExtents": [half, half, item.height / 2], "physicsClientId": client}
        solid = item.kind != "zone"
        collision = pybullet.createCollisionShape(pybullet.GEOM_BOX, **extents) if solid else -1
        visual = pybullet.createVisualShape(pybullet.GEOM_BOX, rgbaColor=rgba, **extents)
    turn = pybullet.getQuaternionFromEuler((0, 0, item.yaw))
    body = pybullet.createMultiBody(item.mass, collision, visual, item.position, turn, physicsClientId=client)
    pybullet.changeDynamics(
        body,
        -1,
        lateralFriction=item.friction,
        spinningFriction=0.005,
        rollingFriction=0.002 if item.kind == "cylinder" else 0.0,
        linearDamping=0.05,
        angularDamping=0.3,
        physicsClientId=client,
    )
    return body


def _drawer(client: int, item: Item) -> int:
    """Creates a cabinet whose drawer slides along -x; its handle is a post that a gripper can straddle."""
    width, height, depth = item.size, item.height, 0.16
    shell: list[Part] = [
        ((depth / 2, width / 2, 0.005), (depth / 2, 0.0, height - 0.005), 0.0),
        ((depth / 2, 0.005, height / 2), (depth / 2, width / 2 - 0.005, height / 2), 0.0),
        ((depth / 2, 0.005, height / 2), (depth / 2, -width / 2 + 0.005, height / 2), 0.0),
    ]
    slide: list[Part] = [
        ((0.005, width / 2 - 0.012, height / 2 - 0.01), (-0.005, 0.0, height / 2 - 0.002), 0.0),
        ((depth / 2 - 0.01, width / 2 - 0.016, 0.003), (depth / 2 - 0.01, 0.0, 0.012), 0.0),
        ((HANDLE_STANDOFF / 2, 0.007, 0.007), (-HANDLE_STANDOFF / 2, 0.0, 0.02), 0.0),
        ((0.008, 0.008, 0.036), (-HANDLE_STANDOFF, 0.0, 0.048), 0.0),
    ]
    shapes = {}
    for name, parts, rgb in (("shell", shell, item.rgb), ("slide", slide, tuple(0.6 * c for c in item.rgb))):
        halves, centres = [list(p[0]) for p in parts], [list(p[1]) for p in parts]
        box = [pybullet.GEOM_BOX] * len(parts)
        shapes[name] = (
            pybullet.createCollisionShapeArray(
                shapeTypes=box, halfExtents=halves, collisionFramePositions=centres, physicsClientId=client
            ),
            pybullet.createVisualShapeArray(
                shapeTypes=box,
                halfExtents=halves,
                visualFramePositions=centres,
                rgbaColors=[[*rgb, 1.0]] * len(parts),
                physicsClientId=client,
            ),
        )
    body = pybullet.createMultiBody(
        baseMass=0.0,
        baseCollisionShapeIndex=shapes["shell"][0],
        baseVisualShapeIndex=shapes["shell"][1],
        basePosition=item.position,
        linkMasses=[0.3],
        linkCollisionShapeIndices=[shapes["slide"][0]],
        linkVisualShapeIndices=[shapes["slide"][1]],
        linkPositions=[[0, 0, 0]],
        linkOrientations=[[0, 0, 0, 1]],
        linkInertialFramePositions=[[0, 0, 0.04]],
        linkInertialFrameOrientations=[[0, 0, 0, 1]],
        linkParentIndices=[0],
        linkJointTypes=[pybullet.JOINT_PRISMATIC],
        linkJointAxis=[[-1, 0, 0]],
        physicsClientId=client,
    )
    pybullet.changeVisualShape(body, -1, rgbaColor=[*item.rgb, 1.0], physicsClientId=client)
    pybullet.changeVisualShape(body, 0, rgbaColor=[*(0.6 * c for c in item.rgb), 1.0], physicsClientId=client)
    pybullet.changeDynamics(
        body,
        0,
        jointLowerLimit=0.0,
        jointUpperLimit=DRAWER_TRAVEL,
        lateralFriction=1.0,
        physicsClientId=client,
    )
    pybullet.setCollisionFilterPair(body, body, -1, 0, 0, physicsClientId=client)
    pybullet.resetJointState(body, 0, item.opening, physicsClientId=client)
    pybullet.setJointMotorControl2(
        body, 0, pybullet.VELOCITY_CONTROL, targetVelocity=0.0, force=1.5, physicsClientId=client
    )
    return body


@functools.cache
def texture_files() -> tuple[str, ...]:
    """Returns paths of the table textures, drawn once a process: noise, wood, checks, stripes, cloth."""
    rng = np.random.default_rng(0)
    folder = Path(tempfile.mkdtemp(prefix="tendon-"))
    rows, columns = np.mgrid[0:128, 0:128]
    coarse = cv2.resize(rng.uniform(0, 1, (12, 12)).astype(np.float32), (128, 128), interpolation=cv2.INTER_CUBIC)
    patterns = [
        0.85 + 0.15 * rng.uniform(-1, 1, (128, 128)),
        0.8 + 0.2 * np.sin(rows / 3.0 + 5 * coarse),
        0.8 + 0.2 * (((rows // 16) + (columns // 16)) % 2),
        0.85 + 0.15 * ((columns // 12) % 2),
        0.7 + 0.3 * coarse,
    ]
    paths = []
    for number, pattern in enumerate(patterns):
        path = folder / f"table{number}.png"
        cv2.imwrite(str(path), np.repeat((np.clip(pattern, 0, 1) * 255).astype(np.uint8)[..., None], 3, axis=2))
        paths.append(str(path))
    return tuple(paths)

"""The camera for people: closed bowls and bins, the whole robot in view, and nothing of it in what policies see."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from tendon.robots.profile import RobotProfile
from tendon.sim.tabletop.items import CONTAINERS, make_item
from tendon.sim.tabletop.scene import sample_scene
from tendon.sim.tabletop.spectator.containers import container_mesh
from tendon.sim.tabletop.spectator.spectator import open_spectator
from tendon.sim.tabletop.world import World

WIDTH, HEIGHT = 360, 270
SEED = 100779


@pytest.mark.parametrize("kind", CONTAINERS)
def test_a_container_seen_from_above_has_no_hole(kind: str) -> None:
    """The faces that look up cover its whole outline, and nothing twice: floor and rims meet."""
    item = make_item(np.random.default_rng(1), kind, "red", (0.4, 0.0))
    corners, indices, _ = container_mesh(item)
    triangles = corners[np.reshape(indices, (-1, 3))]
    areas = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])[:, 2] / 2
    outline = np.unique(np.round(corners[corners[:, 2] == 0.0], 9), axis=0)[:, :2]
    outline = outline[np.argsort(np.arctan2(outline[:, 1], outline[:, 0]))]
    following = np.roll(outline, -1, axis=0)
    whole = (outline[:, 0] * following[:, 1] - outline[:, 1] * following[:, 0]).sum() / 2
    assert areas[areas > 0].sum() == pytest.approx(whole)
    assert areas.min() > -1e-12


@pytest.mark.parametrize("kind", CONTAINERS)
def test_a_containers_faces_look_away_from_its_walls(kind: str) -> None:
    """Each triangle's winding agrees with its normal, so that light falls on the right side."""
    item = make_item(np.random.default_rng(2), kind, "blue", (0.4, 0.0))
    corners, indices, normals = container_mesh(item)
    faces = np.reshape(indices, (-1, 3))
    triangles = corners[faces]
    winding = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    winding = winding[np.linalg.norm(winding, axis=1) > 1e-12]
    facing = normals[faces[:, 0]][
        np.linalg.norm(np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]), axis=1) > 1e-12
    ]
    assert ((winding * facing).sum(axis=1) > 0).all()


@pytest.mark.parametrize("seed", [SEED, 100782, 101414])
def test_the_whole_robot_is_in_the_picture(seed: int, profile: RobotProfile) -> None:
    """Between two poses far apart, nothing changes near the picture's edges: no part of the arm is beyond them."""
    scene = sample_scene(seed)
    spectator = open_spectator(scene, profile, WIDTH, HEIGHT)
    world = World(scene, profile)
    pictures = []
    for side in (-0.6, 0.0, 0.6):
        joints = np.array([*world.joint_state()[0]])
        joints[0] += side
        state = replace(world.state(), joint_position=(*joints.tolist(), float(joints[-1])))
        pictures.append(spectator.draw(state).astype(int))
    world.close()
    spectator.close()
    changed = np.abs(np.array(pictures) - pictures[1]).max(axis=(0, 3)) > 40
    rows, columns = np.nonzero(changed)
    assert changed.sum() > 500
    assert rows.min() >= 4 and rows.max() < HEIGHT - 4
    assert columns.min() >= 4 and columns.max() < WIDTH - 4


def test_policies_see_the_same_with_and_without_a_spectator(profile: RobotProfile) -> None:
    """The bowls that people see are the spectator's own: a policy camera's pixels do not change."""
    scene = sample_scene(SEED, "put_in")
    world = World(scene, profile)
    before = [world.render(camera.name) for camera in profile.cameras]
    spectator = open_spectator(scene, profile, WIDTH, HEIGHT)
    spectator.draw(world.state())
    after = [world.render(camera.name) for camera in profile.cameras]
    spectator.close()
    world.close()
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))


def test_the_mesh_has_the_measures_of_the_walls(profile: RobotProfile) -> None:
    """The drawn bowl is as wide as the boxes that things collide with, from wall to wall."""
    item = make_item(np.random.default_rng(3), "bowl", "green", (0.4, 0.0))
    corners, _, _ = container_mesh(item)
    apothem = np.linalg.norm(corners[:, :2], axis=1).max() * math.cos(math.pi / 8)
    assert apothem == pytest.approx(item.size / 2 - 0.002)
    assert corners[:, 2].max() == item.height

"""Cameras: pictures agree with the published intrinsics and viewpoints, and randomisation changes what is seen."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest

from tendon.core.types import Array
from tendon.robots.kinematics import Kinematics
from tendon.robots.profile import load_profile
from tendon.robots.tool import TOOL_DOWN
from tendon.sim.cameras import CameraRig
from tendon.sim.engine import Light
from tendon.sim.tabletop.scene import Look, Scene, sample_scene
from tendon.sim.tabletop.world import World
from tendon.sim.viewpoints import viewpoints

PLAIN = Look(
    table_rgb=(0.6, 0.6, 0.6),
    texture=0,
    light_direction=(0.0, 0.0, 2.0),
    light_rgb=(1.0, 1.0, 1.0),
    ambient=0.6,
    camera_offset=(0.0, 0.0, 0.0),
    camera_tilt=(0.0, 0.0),
)
LIGHT = Light(direction=PLAIN.light_direction, rgb=PLAIN.light_rgb, ambient=PLAIN.ambient)
PROFILE = load_profile("panda")
SEEDS = range(100_000, 100_600, 25)


def plain(seed: int) -> Scene:
    return replace(sample_scene(seed), look=PLAIN)


def project(rig: CameraRig, name: str, point: Array, tool: Array) -> tuple[float, float]:
    """Column and row of a point, by the intrinsics and the nominal viewpoint alone."""
    view = viewpoints(PROFILE)[name]
    eye = np.array(view.eye) + (0.0 if view.on_tool is None else tool)
    right, up, backward = np.array(view.rotation) @ (point - eye)
    column, row, depth = rig.intrinsics(name) @ (right, -up, -backward)
    return column / depth, row / depth


def has_colour(pixel: npt.NDArray[np.uint8], rgb: tuple[float, float, float]) -> bool:
    """Whether a pixel is a shade of a colour; the light makes it darker or lighter, not another."""
    seen, true = pixel / np.linalg.norm(pixel), np.array(rgb) / np.linalg.norm(rgb)
    return float(seen @ true) > 0.99


@pytest.mark.parametrize("seed", SEEDS)
def test_items_are_seen_where_intrinsics_and_viewpoint_project_them(world: World, seed: int) -> None:
    scene = plain(seed)
    world.reset(scene)
    kinematics = Kinematics(world.profile)
    home = world.profile.vector("home")
    for i, item in enumerate(scene.items):
        if item.kind == "drawer":
            continue
        # Out of the scene camera's view of the item, and over it with the item off the wrist camera's middle.
        away = np.array([0.32, -0.2 if item.position[1] > 0 else 0.2, 0.35])
        above = np.add(item.position, (-0.03, 0.02, 0.2))
        for camera, tool in (("scene", away), ("wrist", above)):
            world.reset_joints(kinematics.inverse(tool, TOOL_DOWN, home))
            pixels = world.render(camera)
            column, row = project(world.cameras, camera, world.item_position(i), tool)
            assert 0 <= column < pixels.shape[1] and 0 <= row < pixels.shape[0], (camera, item.name)
            pixel = pixels[int(row), int(column)]
            assert has_colour(pixel, item.rgb), (camera, item.name, pixel, (column, row))


def test_intrinsics_are_those_of_the_image_size(world: World) -> None:
    for camera in world.profile.cameras:
        matrix = world.cameras.intrinsics(camera.name)
        assert matrix[0, 0] == matrix[1, 1] and matrix[2].tolist() == [0, 0, 1]
        assert abs(matrix[0, 2] - (camera.width - 1) / 2) <= 0.5 and abs(matrix[1, 2] - (camera.height - 1) / 2) <= 0.5
        assert matrix[1, 1] / (camera.height / 2) == pytest.approx(viewpoints(PROFILE)[camera.name].focal)
        assert world.render(camera.name).shape == (camera.height, camera.width, 3)


@pytest.mark.parametrize(
    "change",
    [
        {"table_rgb": (0.8, 0.5, 0.5)},
        {"texture": 3},
        {"light_direction": (1.5, -1.2, 2.0)},
        {"light_rgb": (0.85, 1.0, 0.9)},
        {"ambient": 0.45},
        {"camera_offset": (0.01, 0.0, 0.0)},
        {"camera_offset": (0.0, 0.01, -0.01)},
        {"camera_tilt": (0.01, 0.0)},
        {"camera_tilt": (0.0, -0.01)},
    ],
    ids=str,
)
def test_each_random_part_of_a_look_changes_the_picture(world: World, change: dict[str, object]) -> None:
    scene = plain(100_003)
    world.reset(scene)
    before = world.render("scene")
    world.reset(replace(scene, look=replace(PLAIN, **change)))
    after = world.render("scene")
    differing = (np.abs(after.astype(int) - before).max(axis=2) > 2).mean()
    assert differing > 0.01


def test_looks_are_drawn_over_their_whole_range() -> None:
    looks = [sample_scene(seed).look for seed in range(100_000, 100_300)]
    assert {look.texture for look in looks} == set(range(6))
    for values, least in [
        ([np.mean(look.table_rgb) for look in looks], 0.4),
        ([look.ambient for look in looks], 0.2),
        ([look.light_direction[0] for look in looks], 2.0),
        ([look.camera_offset[2] for look in looks], 0.015),
        ([look.camera_tilt[0] for look in looks], 0.015),
    ]:
        assert np.ptp(values) > least


def test_a_camera_without_a_mount_looks_at_the_workspace_from_beyond_it(world: World) -> None:
    camera = replace(world.profile.cameras[0], name="overhead", mount=None)
    other = World(sample_scene(100_003), replace(world.profile, cameras=(camera,)))
    pixels = other.render("overhead")
    other.close()
    assert len({tuple(pixel) for pixel in pixels.reshape(-1, 3).tolist()}) > 50


def test_a_lens_that_bends_and_a_noisy_sensor_are_simulated(world: World) -> None:
    camera = world.profile.camera("scene")
    assert camera.mount is not None
    world.reset(plain(100_003))
    straight = world.render("scene").astype(int)
    for flaws, mean, largest in (({"distortion": (-0.3, 0.1, 0.0, 0.0, 0.0)}, 30, 255), ({"noise": 5.0}, 6, 60)):
        bad = replace(camera, mount=replace(camera.mount, **flaws))
        rig = CameraRig(world.engine, replace(world.profile, cameras=(bad,)))
        off = np.abs(rig.render("scene", LIGHT).astype(int) - straight)
        assert 0.5 < off.mean() < mean and 5 < off.max() <= largest

"""A world that another simulator draws shows what its own simulator would: the mirrored state is all that is seen."""

from __future__ import annotations

import numpy as np
import pytest
from studies.pictures_apart import DrawnElsewhere

from tendon.robots.profile import load_profile
from tendon.sim.simulators import SIMULATORS
from tendon.sim.tabletop.suite import scene_of
from tendon.sim.tabletop.world import World


@pytest.mark.parametrize("drawn_in", SIMULATORS)
@pytest.mark.parametrize("simulator", SIMULATORS)
def test_every_camera_sees_the_state_of_the_physics(simulator: str, drawn_in: str) -> None:
    profile = load_profile("panda")
    scene = scene_of(profile, 100_000, "drawer")
    world = DrawnElsewhere(scene, profile, simulator, drawn_in)
    alone = World(scene, profile, drawn_in)
    try:
        for each in range(len(scene.items)):
            x, y, z, *turn = world.engine.pose(each)
            if scene.items[each].kind == "cube":
                world.engine.move(each, (x + 0.03, y, z + 0.05, *turn))
            if scene.items[each].kind == "drawer":
                world.engine.set_opening(each, 0.04)
        world.set_target(profile.vector("home") + 0.2, np.zeros(len(profile.joint_names)))
        for _ in range(30):
            world.step()
        before = {camera.name: alone.render(camera.name) for camera in profile.cameras}
        alone.set_state(world.state())
        for camera in profile.cameras:
            seen = world.render(camera.name)
            np.testing.assert_array_equal(seen, alone.render(camera.name))
            assert (seen != before[camera.name]).any()
    finally:
        world.close()
        alone.close()


def test_a_scene_loaded_later_is_drawn_too() -> None:
    profile = load_profile("panda")
    world = DrawnElsewhere(scene_of(profile, 100_005, "drawer"), profile, "pybullet", "mujoco")
    try:
        scene = scene_of(profile, 100_000)
        world.reset(scene)
        alone = World(scene, profile, "mujoco")
        np.testing.assert_array_equal(world.render("scene"), alone.render("scene"))
        alone.close()
    finally:
        world.close()

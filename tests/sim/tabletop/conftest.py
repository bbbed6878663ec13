"""One simulated robot for all tests of a module; a test loads the scene it needs."""

from collections.abc import Iterator

import pytest

from tendon.robots.profile import RobotProfile, load_profile
from tendon.sim.tabletop.scene import sample_scene
from tendon.sim.tabletop.world import World


@pytest.fixture(scope="session")
def profile() -> RobotProfile:
    return load_profile("panda")


@pytest.fixture(scope="module")
def world(profile: RobotProfile) -> Iterator[World]:
    world = World(sample_scene(100_000), profile)
    yield world
    world.close()

"""Several worlds in one process: each is, to the bit, the same world alone, whatever happens to the others."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tendon.core.errors import ConfigError, InvalidDataError, MissingDependencyError
from tendon.core.types import Array
from tendon.evaluation.suites import load_suite, suite_for
from tendon.robots.profile import RobotProfile, load_profile
from tendon.sim.reach.suite import REACH
from tendon.sim.simulators import SIMULATORS
from tendon.sim.suite import Suite, World
from tendon.sim.vectorised import Worlds
from tests.laws import law_settings

MOST = 4
CONTROL_PERIOD = 3
"""Steps of physics in it."""
Event = tuple[str, Any]


def suite_of(profile: RobotProfile) -> Suite:
    return load_suite(suite_for(profile))


@functools.cache
def profile_of(robot: str) -> RobotProfile:
    """Returns a robot with small pictures, which are most of what this costs."""
    profile = load_profile(robot)
    return replace(profile, cameras=tuple(replace(camera, width=64, height=48) for camera in profile.cameras))


@functools.cache
def opened(robot: str, simulator: str, count: int) -> Worlds:
    """Returns worlds that threads share out unevenly, where threads step."""
    return Worlds(suite_of(profile_of(robot)), profile_of(robot), simulator, count, threads=max(1, count - 1))


@functools.cache
def lone(robot: str, simulator: str) -> World:
    return suite_of(profile_of(robot)).world(profile_of(robot), simulator)


def draws(world: World) -> bool:
    """MuJoCo needs EGL, which a bare machine has not."""
    try:
        world.render(world.profile.cameras[-1].name)
    except MissingDependencyError:
        return False
    return True


def targets_of(profile: RobotProfile, number: int, seed: int) -> Array:
    """Returns (n,) somewhere around home."""
    lower, upper, home = (profile.vector(name) for name in ("lower", "upper", "home"))
    way = np.random.default_rng([seed, number]).uniform(-0.3, 0.3, len(home))
    return np.clip(home + way * np.minimum(upper - lower, 2.0), lower, upper)


def live_alone(world: World, history: Sequence[Event]) -> list[object]:
    """Returns what a world measures and sees when nothing but this happens in the process."""
    profile, seen = world.profile, list[object]()
    for kind, value in history:
        if kind == "reset":
            world.reset(suite_of(profile).scene(profile, value))
        elif kind == "look":
            seen.append(world.render(profile.cameras[-1].name).tobytes())
        else:
            world.set_target(value, 0.1 * value)
            for _ in range(CONTROL_PERIOD):
                world.step()
        seen.append((world.time_ns, *(row.tobytes() for row in world.joint_state()), world.state()))
        seen.append((world.scene.task.success(world), world.scene.task.progress(world)))
    return seen


EVENTS = st.one_of(
    st.tuples(st.just("step"), st.integers(0, 2**32)),
    st.tuples(st.just("look"), st.none()),
    st.tuples(st.just("reset"), st.dictionaries(st.integers(0, MOST - 1), st.integers(100_000, 100_020), min_size=1)),
)


@pytest.mark.parametrize("robot", ["panda", "ur5e_2f85", "g1_arms"])
@pytest.mark.parametrize("simulator", SIMULATORS)
@law_settings(8)
@given(
    count=st.integers(1, MOST),
    first=st.lists(st.integers(100_000, 100_020), min_size=MOST, max_size=MOST),
    events=st.lists(EVENTS, max_size=8),
)
def test_each_world_is_to_the_bit_the_same_world_alone(
    simulator: str, robot: str, count: int, first: list[int], events: list[Event]
) -> None:
    worlds, alone = opened(robot, simulator, count), lone(robot, simulator)
    profile, camera, pictures = alone.profile, alone.profile.cameras[-1].name, draws(alone)
    histories: list[list[Event]] = [[("reset", seed)] for seed in first[:count]]
    seen: list[list[object]] = [[] for _ in range(count)]

    def note(which: Sequence[int]) -> None:
        sight, success, progress = worlds.observe(), worlds.success(), worlds.progress()
        for k in which:
            world, state = worlds.worlds[k], (sight.joint_position[k].tobytes(), sight.joint_velocity[k].tobytes())
            seen[k] += [(world.time_ns, *state, world.state()), (success[k], progress[k])]

    worlds.reset(first[:count])
    note(range(count))
    for kind, value in events:
        which: Sequence[int] = range(count)
        if kind == "step":
            targets = np.stack([targets_of(profile, k, value) for k in which])
            worlds.step(targets, 0.1 * targets)
            happened = [("step", row) for row in targets]
        elif kind == "reset":
            which = [k for k in value if k < count]
            worlds.reset({k: value[k] for k in which})
            happened = [("reset", value[k]) for k in which]
        elif pictures:
            pixels = worlds.observe([camera]).images[camera]
            for k in which:
                seen[k].append(pixels[k].tobytes())
            happened = [("look", None)] * count
        else:
            continue
        for k, event in zip(which, happened, strict=True):
            histories[k].append(event)
        note(which)
    # `success` watches what happens on the way, so both worlds are asked equally often: at their own events.
    for k in reversed(range(count)):
        assert seen[k] == live_alone(alone, histories[k])


def test_arrays_are_stacked_and_a_task_is_done_in_the_world_where_it_is() -> None:
    profile = load_profile("ur5e")
    worlds = Worlds(REACH, profile, count=3)
    try:
        worlds.reset([7, 8, 9])
        sight = worlds.observe(["wrist"])
        assert sight.joint_position.shape == sight.joint_velocity.shape == (3, 6)
        assert sight.images["wrist"].shape == (3, 480, 640, 3) and sight.images["wrist"].dtype == np.uint8
        assert worlds.instructions == ("move the tool to the red ball",) * 3
        world: Any = worlds.worlds[1]
        world.reset_joints(np.array(world.scene.posture))
        assert worlds.success().tolist() == [False, True, False]
        assert worlds.progress().tolist() == [0.0, 1.0, 0.0]
    finally:
        worlds.close()


def test_families_are_asked_for_by_the_number_of_the_world() -> None:
    worlds = opened("panda", "mujoco", 2)
    worlds.reset([100_000, 100_000], {0: "push", 1: "stack"})
    assert [world.scene.task.family for world in worlds.worlds] == ["push", "stack"]


def test_what_is_wrong_is_said_before_any_world_moves() -> None:
    profile, worlds = load_profile("panda"), opened("panda", "mujoco", 2)
    worlds.reset([100_000, 100_001])
    worlds.step(worlds.observe().joint_position)
    with pytest.raises(ConfigError, match="count is 0"):
        Worlds(suite_of(profile), profile, count=0)
    with pytest.raises(ConfigError, match="threads is 0"):
        Worlds(suite_of(profile), profile, threads=0)
    with pytest.raises(ConfigError, match="1 seeds for 2 worlds"):
        worlds.reset([100_000])
    for seeds in ([1, 2, 3], {0: 1, 2: 1}, {-1: 1}):
        with pytest.raises(ConfigError, match=r"no world -?\d: there are 2"):
            worlds.reset(seeds)
    with pytest.raises(ValueError, match="family"):
        worlds.reset([1, 2], {1: "juggle"})
    with pytest.raises(InvalidDataError, match="targets has shape"):
        worlds.step(np.zeros(8))
    with pytest.raises(InvalidDataError, match="velocities"):
        worlds.step(np.zeros((2, 8)), np.full((2, 8), np.nan))
    with pytest.raises(ConfigError, match="no camera wirst; did you mean wrist"):
        worlds.observe(["wirst"])
    assert [world.time_ns for world in worlds.worlds] == [10_000_000] * 2


def test_worlds_that_are_open_are_closed_when_another_cannot_be() -> None:
    profile, closed = load_profile("ur5e"), list[str]()
    worlds = iter([REACH.world(profile)])

    def open_next(*args: object, **more: object) -> World:
        world = next(worlds, None)
        if world is None:
            raise ConfigError("no more")
        world.close = lambda close=world.close: (closed.append("first"), close())  # type: ignore[method-assign,misc]
        return world

    with pytest.raises(ConfigError, match="no more"):
        Worlds(replace(REACH, world=open_next), profile, count=2)
    assert closed == ["first"]


def test_a_world_that_fails_in_a_thread_is_heard_of_when_all_have_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    worlds = Worlds(REACH, load_profile("ur5e"), "mujoco", count=3, threads=3)
    try:
        worlds.reset([7, 8, 9])
        targets = worlds.observe().joint_position

        def fail() -> None:
            raise RuntimeError("the third world is broken")

        with monkeypatch.context() as broken:
            broken.setattr(worlds.worlds[2], "step", fail)
            with pytest.raises(RuntimeError, match="third"):
                worlds.step(targets)
        assert [world.time_ns for world in worlds.worlds] == [10_000_000, 10_000_000, 0]
        worlds.reset({2: 9})
        worlds.step(targets)
        assert [world.time_ns for world in worlds.worlds] == [20_000_000, 20_000_000, 10_000_000]
    finally:
        worlds.close()

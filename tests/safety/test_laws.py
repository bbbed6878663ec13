"""The monitor's own laws of commands: what the controller sends passes, and each way to break a law is named."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tendon.control.controller import Controller
from tendon.core.types import ActionChunk, Array, Observation, SentTrajectory
from tendon.robots.profile import load_profile
from tendon.safety.cubics import extremes, motion_at, motion_of, sample
from tendon.safety.laws import CommandLaws, Delivery
from tests.laws import law_settings

PROFILE = load_profile("panda")
ARM = PROFILE.controllers[0]
HOME = PROFILE.vector("home")
MS = 1_000_000
COLUMNS = {c.name: [PROFILE.joint_names.index(name) for name in c.joints] for c in PROFILE.controllers}


def laws_of(controller: object = ARM) -> CommandLaws:
    return CommandLaws(PROFILE, controller, np.full(8, 0.005))


AT_HOME = Delivery(measured=HOME[:7])


def command(position: object, velocity: object, times_ms: tuple[float, ...], stamp_ns: int = 0) -> SentTrajectory:
    return SentTrajectory(
        stamp_ns=stamp_ns,
        joint_names=ARM.joints,
        times_ns=[round(t * MS) for t in times_ms],
        position=np.array(position, dtype=np.float64),
        velocity=np.array(velocity, dtype=np.float64),
    )


def rest_to_rest(distance: float, milliseconds: float = 200.0, joint: int = 0) -> SentTrajectory:
    """A motion of constant jerk, up, down, down and up, in 20 pieces."""
    h, position, velocity = milliseconds * 1e-3 / 20, np.tile(HOME[:7], (21, 1)), np.zeros((21, 7))
    jerks = np.repeat([1.0, -1.0, -1.0, 1.0], 5) * distance / (2.0 * (5 * h) ** 3)
    p = v = a = 0.0
    for k, jerk in enumerate(jerks):
        p, v, a = p + h * (v + h * (a / 2 + h * jerk / 6)), v + h * (a + h * jerk / 2), a + h * jerk
        position[k + 1, joint], velocity[k + 1, joint] = HOME[joint] + p, v
    velocity[-1] = 0.0
    return command(position, velocity, tuple(milliseconds * np.linspace(0.0, 1.0, 21)))


def sent(targets: Array, ticks: int) -> Iterator[tuple[str, SentTrajectory, Array]]:
    """Commands of a controller that follows chunks, some of which come late or not at all."""
    controller, now_ns = Controller(PROFILE), 10**12
    position, velocity = HOME.copy(), np.zeros(8)
    for k in range(ticks):
        now_ns += 10 * MS * (1 + 3 * (k % 29 == 28))
        tick = controller.tick(
            now_ns, Observation(stamp_ns=now_ns - 2 * MS, joint_position=position, joint_velocity=velocity)
        )
        if k == 2:
            controller.arm()
        if k > 10 and k % 9 == 0:
            rows = targets[(k // 9) % len(targets)]
            chunk = ActionChunk(actions=rows, start_ns=now_ns, step_ns=100 * MS, observation_stamp_ns=now_ns - 10 * MS)
            controller.submit(chunk, now_ns)
        position = tick.reference
        if tick.command is None:
            continue
        trajectory = tick.command.trajectory
        for driven in PROFILE.controllers:
            columns = COLUMNS[driven.name]
            yield (
                driven.name,
                SentTrajectory(
                    stamp_ns=tick.command.stamp_ns,
                    joint_names=driven.joints,
                    times_ns=trajectory.time_from_start_ns,
                    position=trajectory.position[:, columns],
                    velocity=trajectory.velocity[:, columns],
                ),
                position[columns],
            )


@law_settings(max_examples=15)
@given(arrays(np.float64, (4, 12, 8), elements=st.floats(-4.0, 4.0)))
def test_whatever_is_proposed_the_controllers_commands_obey_every_law(targets: Array) -> None:
    laws = {driven.name: laws_of(driven) for driven in PROFILE.controllers}
    count = 0
    for name, one, measured in sent(targets, 150):
        assert laws[name].check(one, Delivery(measured=measured, measured_ns=one.stamp_ns)) is None
        count += len(one.times_ns) > 1
    assert count > 50


@law_settings(max_examples=60)
@given(arrays(np.float64, (2, 3), elements=st.floats(-3, 3)), arrays(np.float64, (2, 3), elements=st.floats(-9, 9)))
def test_extrema_are_those_of_a_dense_sampling(position: Array, velocity: Array) -> None:
    motion = motion_of([0, 100 * MS], position, velocity)
    dense = [motion_at(*motion, round(t)) for t in np.linspace(0.0, 100 * MS - 1, 2001)]
    p, v = np.array(dense).transpose(1, 0, 2)
    found = [extremes(*points, 0.1) for points in zip(position[0], velocity[0], position[1], velocity[1], strict=True)]
    low, high, speed, begins, ends, jerk = np.array(found).T
    np.testing.assert_allclose(low, p.min(axis=0), atol=1e-4)
    np.testing.assert_allclose(high, p.max(axis=0), atol=1e-4)
    assert (low <= p.min(axis=0) + 1e-12).all() and (high >= p.max(axis=0) - 1e-12).all()
    assert (speed >= np.abs(v).max(axis=0) - 1e-9).all()
    np.testing.assert_allclose(speed, np.abs(v).max(axis=0), atol=1e-2)
    np.testing.assert_allclose(jerk, np.abs(ends - begins) / 0.1, atol=1e-6)
    np.testing.assert_allclose((v[[1, -1]] - v[[0, -2]]) / (0.1 / 2000), [begins, ends], atol=5.0)


def test_a_smooth_motion_passes() -> None:
    assert laws_of().check(rest_to_rest(0.05), AT_HOME) is None


BROKEN = {
    "form: joints": (command(np.zeros((2, 7)), np.zeros((2, 7)), (0, 10)), "form"),
    "form: nan": (command([[*HOME[:6], np.nan]], np.zeros((1, 7)), (300,)), "panda_joint7 position is nan"),
    "form: times": (command(np.tile(HOME[:7], (3, 1)), np.zeros((3, 7)), (0, 20, 10)), "do not increase"),
    "form: shape": (command(np.tile(HOME[:7], (3, 1)), np.zeros((2, 7)), (0, 10, 20)), "one position and velocity"),
    "end": (command(np.tile(HOME[:7], (2, 1)), np.full((2, 7), 0.1), (0, 10)), r"joint1 ends with velocity 0\.1"),
    "duration": (rest_to_rest(0.01, 5000.0), "comes to rest after 5000 ms"),
    "velocity": (rest_to_rest(0.4, 250.0), "panda_joint1 velocity 2.\\d+, limit 2.175"),
    "acceleration": (rest_to_rest(0.2, 200.0, joint=1), "panda_joint2 acceleration .*, limit 7.5"),
    "jerk": (rest_to_rest(2e-5, 4.0), "panda_joint1 jerk"),
    "position": (rest_to_rest(-2.0, 480.0, joint=5), "panda_joint6"),
    "smooth": (command([HOME[:7], HOME[:7] + 1e-3], np.zeros((2, 7)), (0, 100)), None),
    "settle": (command([HOME[:7] + 0.005], np.zeros((1, 7)), (20,)), "settle with acceleration"),
    "settle nowhere": (command([HOME[:7] + 5.0], np.zeros((1, 7)), (300,)), "panda_joint1 position 5"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_each_broken_law_is_named_with_joint_value_and_bound(name: str) -> None:
    bad, reason = BROKEN[name]
    if name == "form: joints":
        bad = replace(bad, joint_names=(*ARM.joints[:-1], "panda_joint9"))
    breach = laws_of().check(bad, AT_HOME)
    if reason is None:  # a single cubic from rest to rest is smooth inside
        assert breach is None
        return
    assert breach is not None and breach.law in (name.split(":")[0].split()[0], "velocity", "position")
    import re

    assert re.search(reason, breach.reason), breach.reason


def test_an_acceleration_that_jumps_between_two_cubics_is_no_bounded_jerk() -> None:
    position = np.tile(HOME[:7], (3, 1))
    position[:, 0] += (0.0, 0.5e-3, 1e-3)
    velocity = np.zeros((3, 7))
    breach = laws_of().check(command(position, velocity, (0, 100, 200)), AT_HOME)
    assert breach is not None and breach.law == "smooth"


@pytest.mark.parametrize(("share", "law"), [(0.9995, None), (1.0005, "smooth")])
def test_an_acceleration_may_jump_by_what_a_breach_says_is_allowed(share: float, law: str | None) -> None:
    """A velocity that differs by `u` at one point makes the acceleration jump there by `8 u / h`."""
    smooth = rest_to_rest(0.05)
    velocity = smooth.velocity.copy()
    velocity[5, 2] += share * PROFILE.safety.law_tolerance * PROFILE.joints[2].acceleration * 0.01 / 8.0
    breach = laws_of().check(replace(smooth, velocity=velocity), AT_HOME)
    assert (breach and breach.law) == law


def test_a_motion_that_comes_from_outside_may_go_back_but_not_further_out() -> None:
    position = rest_to_rest(0.05).position.copy()
    position[:, 5] = PROFILE.joints[5].lower - 0.003
    out = rest_to_rest(-0.002, joint=5)
    outward = position.copy()
    outward[:, 5] += out.position[:, 5] - HOME[5]
    there = Delivery(measured=position[0])
    assert laws_of().check(replace(rest_to_rest(0.05), position=position), there) is None
    breach = laws_of().check(replace(out, position=outward), there)
    assert breach is not None and breach.law == "position"


@pytest.mark.parametrize("what", ["position", "velocity"])
def test_a_command_that_parts_from_the_one_before_too_soon_is_named(what: str) -> None:
    laws = laws_of()
    assert laws.check(rest_to_rest(0.05), AT_HOME) is None
    follow = {t: sample(laws.last, round(t * MS)) for t in (10, 20, 30, 40)}
    position, velocity = (np.array([motion[k] for motion in follow.values()]) for k in (0, 1))
    (position if what == "position" else velocity)[1, 3] += 0.01
    changed = command(position, velocity * [[1], [1], [1], [0]], (0, 10, 20, 30), stamp_ns=10 * MS)
    breach = laws.check(changed, AT_HOME)
    assert breach is not None and breach.law == "agree" and "panda_joint4" in breach.reason


def test_the_same_or_an_older_stamp_is_a_second_sender() -> None:
    laws, first = laws_of(), rest_to_rest(0.01)
    assert laws.check(first, AT_HOME) is None
    assert laws.check(replace(first, times_ns=tuple(first.times_ns)), AT_HOME) is None, "sent twice, as one may be lost"
    position = first.position.copy()
    position[1, 0] += 1e-9
    breach = laws.check(replace(first, position=position), AT_HOME)
    assert breach is not None and breach.law == "order"


@law_settings(max_examples=100)
@given(st.integers(0, 6), st.integers(1, 19), st.floats(1e-3, 1.0) | st.just(np.nan), st.booleans())
def test_a_point_that_is_moved_is_found_whichever_it_is(joint: int, point: int, by: float, rate: bool) -> None:
    laws, good = laws_of(), rest_to_rest(0.05)
    position, velocity = good.position.copy(), good.velocity.copy()
    (velocity if rate else position)[point, joint] += 2.0 * by
    assert laws.check(replace(good, position=position, velocity=velocity), AT_HOME) is not None


def test_a_motion_begins_at_its_stamp() -> None:
    """Until a first point that comes later the robot's own spline would lead there: at 40 rad/s in 20 ms."""
    late = rest_to_rest(0.05)
    breach = laws_of().check(replace(late, times_ns=[t + 21 * MS for t in late.times_ns]), AT_HOME)
    assert breach is not None and breach.law == "form" and "21 ms after its stamp" in breach.reason


@pytest.mark.parametrize("knot_ms", [71.0, 200.0])
def test_a_command_agrees_between_its_points_too(knot_ms: float) -> None:
    """Position and velocity are as before at its stamp, and its next point lies behind what may still be played."""
    laws, sent = laws_of(), rest_to_rest(0.05)
    assert laws.check(sent, AT_HOME) is None
    stamp_ns = 60 * MS
    here, speed = sample(sent, stamp_ns)
    end = here + 0.5 * speed * knot_ms * 1e-3
    parts = command([here, end], [speed, np.zeros(7)], (0.0, knot_ms), stamp_ns)
    breach = laws.check(parts, Delivery(arrived_ns=stamp_ns + 5 * MS, measured=here, measured_ns=stamp_ns))
    assert breach is not None and breach.law == "agree"


def test_nobody_settles_for_years() -> None:
    breach = laws_of().check(command([HOME[:7]], np.zeros((1, 7)), (2e12,)), AT_HOME)
    assert breach is not None and breach.law == "duration"

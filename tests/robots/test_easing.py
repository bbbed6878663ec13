"""A robot that is held off its setpoint when its stop has ended is not pressed on, by no motion that breaks a limit."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tendon.core.types import Array, Observation
from tendon.robots.easing import BELIEVED, Easing, way_of
from tendon.robots.profile import load_profile
from tendon.robots.safety_settings import nanoseconds
from tendon.robots.trajectory_controller import TrajectoryController
from tests.laws import law_settings

PROFILE = load_profile("panda")
COUNT, MS, NOW_NS = len(PROFILE.joints), 1_000_000, 10**12
HOME, TOLERANCE = PROFILE.vector("home"), PROFILE.tracking_tolerance
WAIT_NS = nanoseconds(PROFILE.safety.ease_wait_s)
HELD = PROFILE.safety.held_share * TOLERANCE
STILL = np.zeros(COUNT)
GRIPPER = 7


def seen(position: Array, velocity: Array = STILL) -> Observation:
    return Observation(stamp_ns=NOW_NS, joint_position=position, joint_velocity=velocity)


def off(joint: int, by: float) -> Array:
    return HOME + by * (np.arange(COUNT) == joint)


def ready() -> Easing:
    easing = Easing(PROFILE)
    easing.begin()
    return easing


def test_it_leads_to_where_the_robot_is_held_and_once_a_stop() -> None:
    easing = ready()
    goal = easing.look(HOME, seen(off(2, -0.05)), NOW_NS)
    assert goal is not None and np.array_equal(goal, off(2, -0.05)) and easing.over


def test_a_gripper_keeps_what_it_holds_also_where_an_arm_is_led_back() -> None:
    assert ready().look(HOME, seen(off(GRIPPER, -0.03)), NOW_NS) is None
    goal = ready().look(HOME, seen(off(2, 0.05) + off(GRIPPER, -0.03) - HOME), NOW_NS)
    assert goal is not None and np.array_equal(goal, off(2, 0.05))


def test_what_gravity_does_and_what_no_contact_can_be_lead_nowhere() -> None:
    for by in (HELD[2], -HELD[2], 1.01 * BELIEVED * TOLERANCE[2]):
        easing = ready()
        assert easing.look(HOME, seen(off(2, by)), NOW_NS) is None and easing.over


def test_it_waits_for_rest_and_no_longer_than_a_robot_takes_that_follows() -> None:
    easing, fast = ready(), 0.5 * PROFILE.vector("velocity")
    assert easing.look(HOME, seen(off(2, 0.05), fast), NOW_NS) is None and not easing.over
    assert easing.look(HOME, seen(off(2, 0.05), fast), NOW_NS + WAIT_NS) is None and easing.over
    easing = ready()
    easing.look(HOME, seen(off(2, 0.08), fast), NOW_NS)
    assert easing.look(HOME, seen(off(2, 0.05)), NOW_NS + 30 * MS) is not None


def test_without_a_joint_state_or_a_motion_before_there_is_nothing_to_do() -> None:
    assert Easing(PROFILE).over
    easing = ready()
    assert easing.look(HOME, None, NOW_NS) is None and easing.over


@law_settings(max_examples=60)
@given(share=st.lists(st.floats(-0.999 * BELIEVED, 0.999 * BELIEVED), min_size=7, max_size=7))
def test_the_way_keeps_every_limit_and_ends_at_rest_where_the_robot_is(share: list[float]) -> None:
    lower, upper = PROFILE.vector("lower"), PROFILE.vector("upper")
    held = HOME.copy()
    held[:7] = np.clip(HOME[:7] + np.array(share) * TOLERANCE[:7], lower[:7], upper[:7])
    goal = ready().look(HOME, seen(held), NOW_NS)
    if goal is None:
        assert (np.abs(held - HOME) <= HELD)[:7].all()
        return
    side = TrajectoryController(PROFILE.joint_names, HOME)
    way = way_of(PROFILE, HOME, goal, NOW_NS)
    side.accept(way, NOW_NS)
    states = [side.sample(NOW_NS + k * MS) for k in range(way.times_ns[-1] // MS + 2)]
    q, v = (np.array(each) for each in zip(*states, strict=True))
    acceleration = np.diff(v, axis=0) * 1e3
    assert ((q >= np.minimum(HOME, goal) - 1e-9) & (q <= np.maximum(HOME, goal) + 1e-9)).all(), "straight there"
    assert (np.abs(v) <= PROFILE.vector("velocity") + 1e-9).all()
    assert (np.abs(acceleration) <= PROFILE.vector("acceleration") * (1 + 1e-6)).all()
    assert (np.abs(np.diff(acceleration, axis=0)) * 1e3 <= PROFILE.vector("jerk") * (1 + 1e-3)).all()
    assert np.allclose(q[-1], goal, atol=1e-12) and not v[-1].any()

"""Kinematics: the same robot as PyBullet's Panda, and inverse and forward are one law."""

from collections.abc import Iterator

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tendon.core.errors import KinematicsError
from tendon.core.types import Array
from tendon.robots.kinematics import Kinematics
from tendon.robots.profile import RobotProfile, load_profile
from tests.laws import law_settings

PROFILE = load_profile("panda")
KINEMATICS = Kinematics(PROFILE)
LOWER, UPPER, HOME = PROFILE.vector("lower"), PROFILE.vector("upper"), PROFILE.vector("home")
TOOL_DOWN = np.diag([1.0, -1.0, -1.0])

JOINTS = hnp.arrays(np.float64, len(LOWER), elements=st.floats(0, 1)).map(lambda part: LOWER + part * (UPPER - LOWER))
# The table in front of the robot, up to 40 cm above it: where the tool points straight down at something.
TABLE = st.tuples(st.floats(0.35, 0.65), st.floats(-0.3, 0.3), st.floats(0.02, 0.4)).map(np.array)


@pytest.fixture(scope="module")
def bullet() -> Iterator[tuple[object, int, int]]:
    """PyBullet's own Panda: the module, the client and the body."""
    pybullet = pytest.importorskip("pybullet")
    pybullet_data = pytest.importorskip("pybullet_data")
    client = pybullet.connect(pybullet.DIRECT)
    path = f"{pybullet_data.getDataPath()}/franka_panda/panda.urdf"
    body = pybullet.loadURDF(path, useFixedBase=True, physicsClientId=client)
    yield pybullet, client, body
    pybullet.disconnect(client)


def bullet_tool_pose(bullet: tuple[object, int, int], joints: Array) -> tuple[Array, Array]:
    """The tool as PyBullet sees it: 0.1034 m along z of `panda_hand`."""
    pybullet, client, body = bullet
    links = {}
    for index in range(pybullet.getNumJoints(body, physicsClientId=client)):  # type: ignore[attr-defined]
        info = pybullet.getJointInfo(body, index, physicsClientId=client)  # type: ignore[attr-defined]
        links[info[12].decode()] = index
        if info[1].decode() in PROFILE.joint_names:
            value = joints[PROFILE.joint_names.index(info[1].decode())]
            pybullet.resetJointState(body, index, value, physicsClientId=client)  # type: ignore[attr-defined]
    state = pybullet.getLinkState(  # type: ignore[attr-defined]
        body, links["panda_hand"], computeForwardKinematics=True, physicsClientId=client
    )
    rotation = np.reshape(pybullet.getMatrixFromQuaternion(state[5]), (3, 3))  # type: ignore[attr-defined]
    return np.array(state[4]) + 0.1034 * rotation[:, 2], rotation


@law_settings()
@given(joints=JOINTS)
def test_forward_kinematics_equals_pybullets_panda(bullet: tuple[object, int, int], joints: Array) -> None:
    """Our URDF has no meshes and other files; the tool is in the same place for every joint vector."""
    position, rotation = KINEMATICS.tool_pose(joints)
    expected_position, expected_rotation = bullet_tool_pose(bullet, joints)
    np.testing.assert_allclose(position, expected_position, atol=1e-5)
    np.testing.assert_allclose(rotation, expected_rotation, atol=1e-5)


@law_settings()
@given(JOINTS)
def test_a_rotation_is_a_rotation(joints: Array) -> None:
    """Orthonormal and right-handed."""
    rotation = KINEMATICS.tool_pose(joints)[1]
    np.testing.assert_allclose(rotation @ rotation.T, np.eye(3), atol=1e-12)
    assert np.linalg.det(rotation) == pytest.approx(1.0)


@law_settings()
@given(JOINTS, hnp.arrays(np.float64, len(LOWER), elements=st.floats(-1, 1)))
def test_tool_velocity_is_the_derivative_of_tool_position(joints: Array, velocity: Array) -> None:
    """Against a central difference."""
    step = 1e-6
    ahead = KINEMATICS.tool_pose(joints + step * velocity)[0]
    behind = KINEMATICS.tool_pose(joints - step * velocity)[0]
    np.testing.assert_allclose(KINEMATICS.tool_velocity(joints, velocity), (ahead - behind) / (2 * step), atol=1e-6)


@law_settings()
@given(JOINTS, st.floats(0.0, 0.04))
def test_the_finger_does_not_move_the_tool(joints: Array, finger: float) -> None:
    """The tool frame is between the fingers."""
    moved = joints.copy()
    moved[-1] = finger
    np.testing.assert_array_equal(KINEMATICS.tool_pose(moved)[0], KINEMATICS.tool_pose(joints)[0])


@law_settings()
@given(st.lists(TABLE, min_size=1, max_size=4), st.floats(0.0, 0.04))
def test_every_place_over_the_table_is_reached_from_home_and_from_another(places: list[Array], finger: float) -> None:
    """Each answer puts the tool there, inside the limits, and leaves the finger where the seed has it."""
    answer = HOME.copy()
    answer[-1] = finger
    for place in places:
        answer = KINEMATICS.inverse(place, TOOL_DOWN, answer)
        reached, rotation = KINEMATICS.tool_pose(answer)
        np.testing.assert_allclose(reached, place, atol=1e-4)
        np.testing.assert_allclose(rotation, TOOL_DOWN, atol=2e-4)
        assert (answer >= LOWER).all()
        assert (answer <= UPPER).all()
        assert answer[-1] == finger


@law_settings()
@given(JOINTS, JOINTS)
def test_an_answer_is_right_or_an_error(joints: Array, seed: Array) -> None:
    """Any pose of the robot, from any seed: a solution within tolerance and limits, or KinematicsError."""
    position, rotation = KINEMATICS.tool_pose(joints)
    try:
        answer = KINEMATICS.inverse(position, rotation, seed)
    except KinematicsError:
        return
    reached, turned = KINEMATICS.tool_pose(answer)
    np.testing.assert_allclose(reached, position, atol=1e-4)
    np.testing.assert_allclose(turned, rotation, atol=2e-4)
    assert (answer >= LOWER - 1e-12).all()
    assert (answer <= UPPER + 1e-12).all()


@law_settings()
@given(TABLE)
def test_inverse_does_not_write_to_its_seed(position: Array) -> None:
    """Rows of a chunk are solved one after another, each seeded by the one before."""
    seed = HOME.copy()
    KINEMATICS.inverse(position, TOOL_DOWN, seed)
    np.testing.assert_array_equal(seed, HOME)


@pytest.mark.parametrize("position", [[2.0, 0.0, 0.5], [0.0, 0.0, 3.0], [float("nan"), 0.0, 0.5]])
def test_a_place_out_of_reach_is_an_error_that_says_how_far(position: list[float]) -> None:
    """Also when the place is no place."""
    with pytest.raises(KinematicsError, match=r"closest is .* mm and .* rad off after \d+ steps"):
        KINEMATICS.inverse(np.array(position), TOOL_DOWN, HOME)


ROBOTS = ("panda", "ur5e", "ur10e", "xarm7", "so101", "g1_arms", "talos_upper")


def random_arm(rng: np.random.Generator, profile: RobotProfile, at_limits: float) -> Array:
    """Home, the arm's joints anywhere, each with probability `at_limits` exactly at a limit."""
    lower, upper, joints = profile.vector("lower"), profile.vector("upper"), np.array(profile.vector("home"))
    arm = profile.group_indices("arm")
    joints[arm] = rng.uniform(lower, upper)[arm]
    border = np.where(rng.random(len(joints)) < 0.5, lower, upper)
    stuck = [i for i in arm if rng.random() < at_limits]
    joints[stuck] = border[stuck]
    return joints


@pytest.mark.parametrize("at_limits", [0.0, 0.4])
@pytest.mark.parametrize("robot", ROBOTS)
def test_what_is_near_is_found_nearby(robot: str, at_limits: float) -> None:
    """From anywhere, also with joints at their limits, to what is up to 0.2 rad a joint away: 95 of 100, and no detour.

    Clamping to the limits after a step, instead of letting the other joints make up for it, finds 22 to 85 of 100.
    """
    profile, rng, found = load_profile(robot), np.random.default_rng(0), 0
    kinematics = Kinematics(profile)
    arm = profile.group_indices("arm")
    for _ in range(100):
        seed = random_arm(rng, profile, at_limits)
        goal = np.array(seed)
        goal[arm] += rng.uniform(-0.2, 0.2, len(arm))
        goal = np.clip(goal, profile.vector("lower"), profile.vector("upper"))
        position, rotation = kinematics.tool_pose(goal)
        try:
            answer = kinematics.inverse(position, rotation, seed)
        except KinematicsError:
            continue
        np.testing.assert_allclose(kinematics.tool_pose(answer)[0], position, atol=1e-4)
        found += bool(np.abs(answer - seed).max() < 1.5)
    assert found >= 95


def test_standing_still_is_exact() -> None:
    """No joint creeps toward home while the tool is where it should be."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        seed = random_arm(rng, PROFILE, 0.0)
        np.testing.assert_array_equal(KINEMATICS.inverse(*KINEMATICS.tool_pose(seed), seed), seed)


def test_redundancy_goes_to_the_home_posture_row_by_row() -> None:
    """The elbow is drawn to home while the tool moves, not thrown there."""
    rng = np.random.default_rng(1)
    seed = np.clip(HOME + rng.uniform(-0.5, 0.5, len(HOME)), LOWER, UPPER)
    position, rotation = KINEMATICS.tool_pose(seed)
    joints, steps = seed, []
    for k in range(40):
        wiggle = np.array([0.01 * (-1) ** k, 0.0, 0.0])
        answer = KINEMATICS.inverse(position + wiggle, rotation, joints)
        steps.append(np.abs(answer - joints).max())
        joints = answer
    nearest = min(np.linalg.norm((joints - HOME)[:7]), np.linalg.norm((seed - HOME)[:7]))
    assert nearest == np.linalg.norm((joints - HOME)[:7])
    assert max(steps) < 0.25


def test_a_guess_changes_the_way_not_the_place() -> None:
    """Good, useless or wild: the tool is where it should be, inside the limits."""
    rng = np.random.default_rng(2)
    position, rotation = KINEMATICS.tool_pose(HOME)
    place = position + np.array([0.03, 0.02, -0.02])
    for size in (0.0, 0.05, 0.3, 1.0):
        answer = KINEMATICS.inverse(place, rotation, HOME, ahead=rng.uniform(-size, size, len(HOME)))
        np.testing.assert_allclose(KINEMATICS.tool_pose(answer)[0], place, atol=1e-4)
        assert (answer >= LOWER).all() and (answer <= UPPER).all()


@pytest.mark.parametrize("turn", [0.02, 0.1, 0.3])
def test_an_arm_of_five_joints_takes_the_nearest_rotation(turn: float) -> None:
    """Exact in place, off in rotation by no more than what was asked for beyond its reach; or an error."""
    profile = load_profile("so101")
    kinematics, home = Kinematics(profile), profile.vector("home")
    position, rotation = kinematics.tool_pose(home)
    wanted = pin.exp3(turn * np.array([0.6, 0.0, 0.8])) @ rotation
    with pytest.raises(KinematicsError, match="closest is"):
        kinematics.inverse(position, wanted, home)
    answer = kinematics.inverse(position, wanted, home, rotation_tolerance=1.1 * turn)
    reached, turned = kinematics.tool_pose(answer)
    np.testing.assert_allclose(reached, position, atol=1e-4)
    assert np.linalg.norm(pin.log3(wanted @ turned.T)) < turn

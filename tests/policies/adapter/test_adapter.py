"""Adapter: what a policy says and what a robot does are one law each way, in any convention, on every robot."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tendon.core.errors import InvalidDataError, MismatchError
from tendon.core.types import Array
from tendon.policies.adapter.adapter import Adapter
from tendon.policies.adapter.conventions import gripper_joints, joint_types
from tendon.policies.spec.components import SHARE_UNITS, JointComponent
from tendon.policies.spec.rotations import ROTATIONS
from tendon.policies.spec.spaces import ActionSpace, StateItem
from tendon.robots.kinematics import Kinematics
from tendon.robots.profile import RobotProfile, load_profile
from tests import ROOT
from tests.laws import law_settings
from tests.policies.conftest import build_manifest
from tests.robots.calibrated import load_calibrated_panda

ROBOTS = ("panda", "fr3", "ur5e", "ur10e", "xarm7", "so101", "g1_arms")
STEP_S = 0.1
profile_of = cache(load_profile)


def adapter(
    profile: RobotProfile, state: tuple[StateItem, ...] | None = None, state_mean: Any = None, **action: Any
) -> Adapter:
    """Of a policy with these words and no statistics; by default its state is every joint in its own unit."""
    joints = tuple(
        JointComponent(joint=joint.name, unit="m" if joint_types(profile)[joint.name] == "prismatic" else "rad")
        for joint in profile.joints
    )
    state = state or (StateItem(name="joints", joints=joints),)
    size = sum(item.size for item in state)
    values: dict[str, Any] = {"space": "joint_position", "relative_to": "nothing", "joints": joints} | action
    count = len(values["joints"])
    if values["space"] == "tool_pose":
        count += 3 + ROTATIONS[values["rotation"]].size
    values["mean"], values["std"] = values.get("mean", (0.0,) * count), (1.0,) * count
    manifest = build_manifest(
        robot=profile.name,
        joint_names=profile.joint_names,
        state=state,
        state_mean=(0.0,) * size if state_mean is None else state_mean,
        state_std=(1.0,) * size,
        action=ActionSpace(rows=64, step_s=STEP_S, **values),
    )
    return Adapter(manifest, profile)


@st.composite
def conventions(draw: st.DrawFn, profile: RobotProfile, velocity: bool = False) -> tuple[JointComponent, ...]:
    """Every joint once, in any order, each in any unit that it can have."""
    types, grippers = joint_types(profile), gripper_joints(profile)
    components = []
    for joint in draw(st.permutations(profile.joints)):
        linear = ("m",) if types[joint.name] == "prismatic" else ("rad", "deg")
        speeds = tuple(f"{unit}/s" for unit in linear) if velocity else ()
        unit = draw(st.sampled_from([*linear, *speeds, *SHARE_UNITS]))
        values: dict[str, Any] = {"joint": joint.name, "unit": unit, "absolute": not velocity and draw(st.booleans())}
        if unit in SHARE_UNITS:
            if draw(st.booleans()) or joint.name in grippers:
                values["open"] = draw(st.sampled_from(SHARE_UNITS[unit]))
            if draw(st.booleans()):
                values["range"] = tuple(draw(st.permutations([joint.lower - 0.1, joint.upper])))
        else:
            values |= {"sign": draw(st.sampled_from([1, -1])), "scale": draw(st.floats(0.1, 10.0))}
            if unit in linear:
                values["zero"] = draw(st.floats(-1.0, 1.0))
        components.append(JointComponent(**values))
    for place in draw(st.lists(st.integers(0, len(components)), max_size=3)):
        components.insert(place, JointComponent(unit="constant", value=draw(st.floats(-1.0, 1.0))))
    return tuple(components)


def inside(profile: RobotProfile, seed: int, rows: int, pace: float = 0.3) -> Array:
    """A smooth random motion inside the limits, (rows, n)."""
    rng = np.random.default_rng(seed)
    lower, upper = profile.vector("lower"), profile.vector("upper")
    start, end = (rng.uniform(lower, upper) for _ in range(2))
    share = np.linspace(0.0, pace, rows)[:, None]
    return np.asarray(start + (end - start) * share)


def test_a_policy_of_joints_is_told_and_commands_them_as_they_are(tmp_path: Path) -> None:
    """What the robot says of them is off by the zeros of its calibration."""
    plain, mine = profile_of("panda"), load_calibrated_panda(tmp_path)
    one, other = adapter(plain), adapter(mine)
    truly = plain.vector("home") + 0.05
    said = truly + mine.zeros
    still = np.zeros_like(truly)
    np.testing.assert_allclose(other.state(said, still), one.state(truly, still), atol=1e-12)
    rows = np.stack([truly, truly + 0.02])
    np.testing.assert_allclose(
        other.to_joints(rows, said, said).actions, one.to_joints(rows, truly, truly).actions + mine.zeros, atol=1e-12
    )
    for relative_to in ("observation", "previous"):
        changes = adapter(mine, relative_to=relative_to).to_joints(np.full((2, 8), 0.01), said, said).actions
        assert (changes - said < 0.021).all(), "a difference has no zero"


@pytest.mark.parametrize("robot", ["panda", "so101", "g1_arms"])
class TestJoints:
    @law_settings(max_examples=25)
    @given(data=st.data(), seed=st.integers(0, 2**16))
    def test_joints_to_components_and_back_is_nothing(self, robot: str, data: st.DataObject, seed: int) -> None:
        """For any units, signs, zeros, ranges, order, and whatever the rows are relative to."""
        profile = profile_of(robot)
        words = data.draw(conventions(profile))
        relative_to = data.draw(st.sampled_from(["nothing", "observation", "previous"]))
        found = adapter(profile, joints=words, relative_to=relative_to)
        origin, *rows = inside(profile, seed, 8)
        components = found.to_components(np.array(rows), origin)
        assert components.shape == (7, len(words))
        back = found.to_joints(components, origin, origin)
        np.testing.assert_allclose(back.actions, rows, atol=1e-9)
        np.testing.assert_allclose(found.to_components(back.actions, origin), components, atol=1e-6)
        assert back.held == ()

    @law_settings(max_examples=25)
    @given(data=st.data(), seed=st.integers(0, 2**16))
    def test_speeds_are_integrated_from_the_row_before(self, robot: str, data: st.DataObject, seed: int) -> None:
        """Any mix of speeds and positions; and a plan cut in two goes on from its last given row."""
        profile = profile_of(robot)
        words = data.draw(conventions(profile, velocity=True).filter(lambda words: any(w.is_velocity for w in words)))
        found = adapter(profile, space="joint_velocity", relative_to="", joints=words)
        origin, *rows = inside(profile, seed, 8)
        components = found.to_components(np.array(rows), origin)
        np.testing.assert_allclose(found.to_joints(components, origin, origin).actions, rows, atol=1e-9)
        cut = data.draw(st.integers(1, 6))
        rest = found.to_joints(components[cut:], origin, rows[cut - 1])
        np.testing.assert_allclose(rest.actions, rows[cut:], atol=1e-9)

    @law_settings(max_examples=20)
    @given(data=st.data(), seed=st.integers(0, 2**16))
    def test_another_order_is_the_same_numbers_in_that_order(self, robot: str, data: st.DataObject, seed: int) -> None:
        """State and action alike: the order of the list is all there is to left and right."""
        profile = profile_of(robot)
        words = data.draw(conventions(profile))
        order = data.draw(st.permutations(range(len(words))))
        shuffled = tuple(words[i] for i in order)
        origin, *rows = inside(profile, seed, 4)
        one = adapter(profile, (StateItem(name="joints", joints=words),), joints=words)
        other = adapter(profile, (StateItem(name="joints", joints=shuffled),), joints=shuffled)
        np.testing.assert_array_equal(one.state(origin, origin)[list(order)], other.state(origin, origin))
        numbers = one.to_components(np.array(rows), origin)
        np.testing.assert_array_equal(numbers[:, order], other.to_components(np.array(rows), origin))
        np.testing.assert_array_equal(
            one.to_joints(numbers, origin, origin).actions,
            other.to_joints(numbers[:, order], origin, origin).actions,
        )

    @law_settings(max_examples=20)
    @given(data=st.data(), seed=st.integers(0, 2**16))
    def test_a_state_is_what_an_action_of_it_would_say(self, robot: str, data: st.DataObject, seed: int) -> None:
        """One convention for both: commanding the measured state keeps the robot where it is."""
        profile = profile_of(robot)
        words = data.draw(conventions(profile))
        found = adapter(profile, (StateItem(name="joints", joints=words),), joints=words)
        q = inside(profile, seed, 2)[1]
        state = found.state(q, np.zeros_like(q))
        np.testing.assert_allclose(state, found.to_components(q[None], q)[0], atol=1e-9)
        np.testing.assert_allclose(found.to_joints(state[None], q, q).actions[0], q, atol=1e-9)

    @law_settings(max_examples=20)
    @given(data=st.data(), seed=st.integers(0, 2**16), size=st.floats(0.1, 1e6))
    def test_whatever_is_said_is_inside_the_limits(
        self, robot: str, data: st.DataObject, seed: int, size: float
    ) -> None:
        """And said to be clamped; a joint that has come to a limit leaves it as soon as it is told to."""
        profile = profile_of(robot)
        words = data.draw(conventions(profile))
        found = adapter(profile, joints=words, relative_to=data.draw(st.sampled_from(["nothing", "previous"])))
        numbers = np.random.default_rng(seed).normal(size=(9, len(words))) * size
        q = inside(profile, seed, 1)[0]
        rows = found.to_joints(numbers, q, q)
        assert (rows.actions >= profile.vector("lower")).all() and (rows.actions <= profile.vector("upper")).all()
        wanted = found.targets(numbers, q)
        assert wanted.shape == (9, len(profile.joints))


class TestConventionsByHand:
    """Facts of other projects, as numbers."""

    def test_droid(self) -> None:
        """Speeds of 0.2 rad in a step of 1/15 s; the gripper is open at 0 (droid, robot_ik_solver.py, robot.py)."""
        profile = profile_of("panda")
        arm = [JointComponent(joint=f"panda_joint{i}", unit="rad/s", scale=3.0) for i in range(1, 8)]
        gripper = JointComponent(joint="panda_finger_joint1", unit="fraction", open=0)
        words = (*(replace(joint, unit="rad", scale=1.0) for joint in arm), gripper)
        found = adapter(
            profile,
            (StateItem(name="joints", joints=words),),
            space="joint_velocity",
            relative_to="",
            joints=(*arm, gripper),
        )
        home = profile.vector("home")
        np.testing.assert_allclose(found.state(home, np.ones(8)), [*home[:7], 0.0])
        rows = found.to_joints(np.tile([0.5, 0, 0, 0, 0, 0, -0.5, 1.0], (3, 1)), home, home).actions
        np.testing.assert_allclose(rows[:, 0], home[0] + 3.0 * 0.5 * STEP_S * np.arange(1, 4))
        np.testing.assert_allclose(rows[:, 7], 0.0)

    def test_lerobot_so101(self) -> None:
        """Degrees from the middle, the gripper from 0, closed, to 100 (lerobot 0.4.4, so_follower.py)."""
        profile = profile_of("so101")
        words = (
            *(JointComponent(joint=name, unit="deg") for name in profile.joint_names[:5]),
            JointComponent(joint="gripper", unit="percent", open=100),
        )
        found = adapter(profile, (StateItem(name="joints", joints=words),), joints=words)
        q = np.array([0.0, -np.pi / 2, 0.5, 0.0, np.pi / 2, 1.74533])
        np.testing.assert_allclose(found.state(q, q), [0, -90, np.rad2deg(0.5), 0, 90, 100], atol=1e-9)

    def test_openpis_delta_actions(self) -> None:
        """Joints relative to the observed state, the gripper not: mask of DeltaActions."""
        profile = profile_of("panda")
        joints = tuple(
            JointComponent(
                joint=joint.name, unit="m" if "finger" in joint.name else "rad", absolute="finger" in joint.name
            )
            for joint in profile.joints
        )
        found = adapter(profile, joints=joints, relative_to="observation")
        home = profile.vector("home")
        rows = found.to_joints(np.tile([0.1] * 7 + [0.02], (2, 1)), home, home + 0.01).actions
        np.testing.assert_allclose(rows, np.tile([*(home[:7] + 0.1), 0.02], (2, 1)))

    def test_two_grippers(self) -> None:
        """Each has its own convention; no robot needs to have exactly one."""
        profile = profile_of("g1_arms")
        names = ("left_wrist_yaw_joint", "right_wrist_yaw_joint")
        both = replace(profile, groups={**profile.groups, "left_gripper": names[:1], "right_gripper": names[1:]})
        words = tuple(
            JointComponent(joint=joint.name, unit="fraction", open=0 if joint.name == names[0] else 1)
            if joint.name in names
            else JointComponent(joint=joint.name, unit="rad")
            for joint in profile.joints
        )
        rows = adapter(both, joints=words).to_joints(np.ones((1, 14)), both.vector("home"), both.vector("home")).actions
        assert [rows[0, profile.joint_names.index(name)] for name in names] == [-1.6144, 1.6144]


class TestHeldJoints:
    HELD = tuple(f"left_{name}_joint" for name in ("shoulder_pitch", "shoulder_roll", "shoulder_yaw", "elbow"))

    def make(self) -> tuple[Adapter, RobotProfile]:
        profile = profile_of("g1_arms")
        words = tuple(JointComponent(joint=n, unit="rad") for n in profile.joint_names if n not in self.HELD)
        return adapter(profile, joints=words, held=self.HELD), profile

    def test_they_do_not_sag_from_chunk_to_chunk(self) -> None:
        """Gravity pulls the arm a little below its target; the next chunk does not take that for its place."""
        found, profile = self.make()
        q = np.array(profile.vector("home"))
        for _ in range(100):
            rows = found.to_joints(np.zeros((2, 10)), q, q)
            np.testing.assert_array_equal(rows.actions[:, :4], np.tile(profile.vector("home")[:4], (2, 1)))
            q = rows.actions[-1] - 0.02

    def test_what_was_moved_by_something_else_stays_there(self) -> None:
        """Further than its tracking tolerance: it would be thrown back else."""
        found, profile = self.make()
        q = np.array(profile.vector("home"))
        found.to_joints(np.zeros((1, 10)), q, q)
        q[0] += 0.5
        np.testing.assert_array_equal(found.to_joints(np.zeros((1, 10)), q, q).actions[0, :4], q[:4])

    def test_a_warm_up_at_home_is_not_where_they_are_to_stay(self) -> None:
        """A finger that held a block was led to its place at home, and opened."""
        found, profile = self.make()
        home = np.array(profile.vector("home"))
        found.to_joints(np.zeros((1, 10)), home, home)
        q, stamp_ns = home - 0.05, 10**18
        for _ in range(3):
            stamp_ns += 10**8
            np.testing.assert_array_equal(found.to_joints(np.zeros((1, 10)), q, q, stamp_ns).actions[0, :4], q[:4])


def pose_space(profile: RobotProfile, **values: Any) -> dict[str, Any]:
    """Space `tool_pose` of a robot: its gripper in percent if it has one, the other joints held."""
    grippers = profile.groups.get("gripper", ())
    moved = {*profile.groups["arm"], *grippers}
    return {
        "space": "tool_pose",
        "joints": tuple(JointComponent(joint=name, unit="percent", open=100) for name in grippers),
        "held": tuple(name for name in profile.joint_names if name not in moved),
        **values,
    }


class TestTool:
    @pytest.mark.parametrize("rotation", ROTATIONS)
    @pytest.mark.parametrize(
        ("relative_to", "frame"),
        [
            ("nothing", "base"),
            ("observation", "base"),
            ("observation", "tool"),
            ("previous", "base"),
            ("previous", "tool"),
        ],
    )
    @law_settings(max_examples=10)
    @given(seed=st.integers(0, 2**16))
    def test_a_pose_to_components_and_back_is_the_same_pose(
        self, rotation: str, relative_to: str, frame: str, seed: int
    ) -> None:
        """In every way of writing rotations down, in both frames; other joints may put the tool there."""
        profile = wide(profile_of("panda"))
        found = adapter(profile, **pose_space(profile, rotation=rotation, relative_to=relative_to, frame=frame))
        self.check_round_trip(found, profile, near_home(profile, seed, 9))

    @pytest.mark.parametrize("robot", ROBOTS)
    @law_settings(max_examples=15)
    @given(seed=st.integers(0, 2**16))
    def test_every_arm(self, robot: str, seed: int) -> None:
        """From five joints to seven, one arm of two."""
        profile = wide(profile_of(robot))
        found = adapter(profile, **pose_space(profile, rotation="rot6d_columns", relative_to="nothing"))
        self.check_round_trip(found, profile, near_home(profile, seed, 9))

    @staticmethod
    def check_round_trip(found: Adapter, profile: RobotProfile, motion: Array) -> None:
        origin, *rows = motion
        components = found.to_components(np.array(rows), origin)
        back = found.to_joints(components, origin, origin)
        assert (back.clamped, back.held) == ((), ())
        kinematics = Kinematics(profile)
        for one, other in zip(rows, back.actions, strict=True):
            for wanted, reached in zip(kinematics.tool_pose(one), kinematics.tool_pose(other), strict=True):
                np.testing.assert_allclose(reached, wanted, atol=3e-4)
        grip = [profile.joint_names.index(name) for name in profile.groups.get("gripper", ())]
        np.testing.assert_allclose(back.actions[:, grip], np.array(rows)[:, grip], atol=1e-9)
        targets = found.targets(components, origin)
        np.testing.assert_allclose(targets[:, :3], [kinematics.tool_pose(row)[0] for row in rows], atol=1e-6)

    def test_scales_are_of_one_number(self) -> None:
        """LIBERO: one is 0.05 m and 0.5 rad (robosuite, OSC_POSE)."""
        profile = wide(profile_of("panda"))
        words = pose_space(profile, rotation="axis_angle", relative_to="observation")
        found = adapter(profile, **words, position_scale=0.05, rotation_scale=0.5)
        home = profile.vector("home")
        kinematics = Kinematics(profile)
        rows = found.to_joints(np.array([[1.0, 0.0, -1.0, 0.0, 0.0, 0.2, 100.0]]), home, home)
        before, after = kinematics.tool_pose(home), kinematics.tool_pose(rows.actions[0])
        np.testing.assert_allclose(after[0] - before[0], [0.05, 0.0, -0.05], atol=2e-4)
        turned = ROTATIONS["axis_angle"].from_matrix(after[1] @ before[1].T, np.zeros(3))
        np.testing.assert_allclose(turned, [0.0, 0.0, 0.1], atol=2e-4)

    def test_state_near_half_a_turn_is_the_one_of_training(self) -> None:
        """The tool points down at home: its axis-angle is one of two, the one near the mean."""
        profile = profile_of("panda")
        item = (
            StateItem(name="tool_rotation", rotation="axis_angle"),
            StateItem(name="tool_position", size=3, unit="m"),
        )
        home = profile.vector("home")
        for sign in (1.0, -1.0):
            found = adapter(profile, item, state_mean=(sign * 3.0, 0.0, 0.0, 0.4, 0.0, 0.3))
            assert np.sign(found.state(home, home)[0]) == sign

    def test_out_of_the_workspace_and_out_of_reach(self) -> None:
        """Moved to the border; then held, and the gripper still moves."""
        profile = profile_of("panda")
        found = adapter(profile, **pose_space(profile, rotation="axis_angle", relative_to="nothing"))
        home = profile.vector("home")
        p, _ = Kinematics(profile).tool_pose(home)
        down, up = [np.pi, 0.0, 0.0], [0.0, 0.0, 0.0]
        rows = found.to_joints(
            np.array([[*p, *down, 0.0], [p[0], p[1], -0.1, *down, 50.0], [0.85, 0.5, 0.8, *up, 100.0]]), home, home
        )
        assert (rows.clamped, rows.held) == ((1,), (2,))
        assert Kinematics(profile).tool_pose(rows.actions[1])[0][2] == pytest.approx(0.012, abs=1e-3)
        np.testing.assert_array_equal(rows.actions[2, :7], rows.actions[1, :7])
        np.testing.assert_allclose(rows.actions[:, 7], [0.0, 0.02, 0.04])

    def test_an_arm_of_five_joints_takes_the_nearest_rotation(self) -> None:
        """Within the tolerance of the manifest, the place exact; without, the row is held."""
        profile = wide(profile_of("so101"))
        home = profile.vector("home")
        kinematics = Kinematics(profile)
        position, rotation = kinematics.tool_pose(home)
        turned = ROTATIONS["axis_angle"].to_matrix(np.array([0.05, 0.05, 0.05])) @ rotation
        row = np.array([[*position, *ROTATIONS["rot6d_rows"].from_matrix(turned, np.zeros(6)), 20.0]])
        words = pose_space(profile, rotation="rot6d_rows", relative_to="nothing")
        assert adapter(profile, **words).to_joints(row, home, home).held == (0,)
        rows = adapter(profile, **words, rotation_tolerance=0.2).to_joints(row, home, home)
        assert rows.held == ()
        found, _ = kinematics.tool_pose(rows.actions[0])
        np.testing.assert_allclose(found, position, atol=1e-4)

    def test_numbers_that_are_no_rotation(self) -> None:
        profile = profile_of("panda")
        found = adapter(profile, **pose_space(profile, rotation="quaternion_xyzw", relative_to="nothing"))
        with pytest.raises(InvalidDataError, match="it is no rotation"):
            found.to_joints(np.zeros((1, 8)), profile.vector("home"), profile.vector("home"))


def wide(profile: RobotProfile) -> RobotProfile:
    """The same with a workspace that nothing is outside of."""
    return replace(profile, workspace=replace(profile.workspace, lower=(-9.0,) * 3, upper=(9.0,) * 3))


def near_home(profile: RobotProfile, seed: int, rows: int) -> Array:
    """A smooth motion of up to 0.5 rad a joint from near home; fingers anywhere."""
    rng = np.random.default_rng(seed)
    lower, upper, home = profile.vector("lower"), profile.vector("upper"), profile.vector("home")
    span = np.minimum(0.5, upper - lower)
    start = np.clip(home + 0.3 * rng.uniform(-span, span), lower, upper)
    end = np.clip(start + rng.uniform(-span, span), lower, upper)
    return np.asarray(start + np.linspace(0.0, 1.0, rows)[:, None] * (end - start))


RAD = {"unit": "rad"}
PANDA = tuple({"joint": f"panda_joint{i}", **RAD} for i in range(1, 8))
FINGER = {"joint": "panda_finger_joint1", "unit": "m"}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            {"joints": (*PANDA[:6], {"joint": "panda_joint9", **RAD}, FINGER)},
            "names joint panda_joint9, which profile panda",
        ),
        ({"joints": (*PANDA[1:], FINGER)}, "nothing is said about panda_joint1 of profile panda: add it"),
        ({"joints": PANDA, "held": ("panda_finger_joint2",)}, "held names joint panda_finger_joint2"),
        (
            {"joints": (*PANDA, {**FINGER, "unit": "deg"})},
            "panda_finger_joint1 is in deg, but is a prismatic joint: .* m,",
        ),
        ({"joints": (*PANDA[:6], {"joint": "panda_joint7", "unit": "m"}, FINGER)}, "joint7 is in m, but is a revolute"),
        (
            {"joints": (*PANDA, {**FINGER, "unit": "fraction"})},
            "is a gripper in fraction, .* say .* open: 0 or open: 1",
        ),
        ({"space": "tool_pose", "rotation": "axis_angle", "joints": ()}, "nothing is said about panda_finger_joint1"),
        (
            {"space": "tool_pose", "rotation": "axis_angle", "joints": (FINGER,), "held": ("panda_joint1",)},
            "panda_joint1 is commanded and held",
        ),
        (
            {"space": "tool_pose", "rotation": "axis_angle", "joints": (FINGER, PANDA[0])},
            "panda_joint1 is commanded by the tool's pose and by itself",
        ),
    ],
)
def test_what_does_not_fit_the_robot_is_refused(values: dict[str, Any], message: str) -> None:
    """When the policy is set up, with the name, what is wrong and what to do."""
    with pytest.raises(MismatchError, match=message):
        adapter(profile_of("panda"), **values)


def test_a_state_that_does_not_fit_the_robot_is_refused() -> None:
    """Likewise."""
    for joint, unit, message in (
        ("elbow", "rad", "state joints names joint elbow"),
        ("panda_joint1", "m/s", "is in m/s"),
    ):
        item = StateItem(name="joints", joints=({"joint": joint, "unit": unit},))  # type: ignore[arg-type]
        with pytest.raises(MismatchError, match=message):
            adapter(profile_of("panda"), (item,))


@pytest.mark.parametrize("robot", ["panda", "fr3", "ur5e_2f85", "ur10e", "xarm7"])
def test_a_finger_is_the_distance_of_a_fingertip_from_the_middle_on_any_gripper(robot: str) -> None:
    """Whether it slides or turns, opens upwards or downwards: as the state has it, so an action means it."""
    profile = profile_of(robot)
    (gripper,), index = profile.grippers, profile.group_indices("gripper")[0]
    state = (StateItem(name="finger_position", size=1, unit="m"),)
    components = {"space": "tool_position", "relative_to": "observation", "joints": (), "mean": (0.0,) * 4}
    size = {"state_mean": (0.0,), "state_std": (1.0,)}
    action = ActionSpace(rows=64, step_s=STEP_S, space="tool_position", mean=components["mean"], std=(1.0,) * 4)
    found = Adapter(
        build_manifest(robot=robot, joint_names=profile.joint_names, state=state, action=action, **size), profile
    )
    home = profile.vector("home").copy()
    for half in (0.0, 0.01, gripper.width / 2):
        home[index] = gripper.position(half)
        assert found.state(home, 0 * home) == pytest.approx([half], abs=1e-9)
        rows = found.to_joints(np.array([[0.0, 0.0, 0.0, half]]), home, home).actions
        assert rows[0, index] == pytest.approx(gripper.position(half), abs=1e-9)


def test_a_finger_that_turns_and_no_gripper_says_how_wide_it_opens_is_refused() -> None:
    """With what to write."""
    profile = replace(profile_of("ur5e_2f85"), grippers=())
    state = (StateItem(name="finger_position", size=1, unit="m"),)
    with pytest.raises(MismatchError, match=r"finger_joint of profile ur5e_2f85 turns: describe it in `grippers`"):
        adapter(profile, state)


def documented() -> list[dict[str, Any]]:
    """The examples of docs/reference/spaces.md, each a state and an action, the joints it leaves out filled in."""
    page = (ROOT / "docs" / "reference" / "spaces.md").read_text(encoding="utf-8")
    blocks = [block.split("```")[0] for block in page.split("```yaml\n")[1:]]
    lines = re.compile(r"( *- \{joint: panda_joint)1(, [^\n]*\n) *# \.\.\. to panda_joint7\n")
    filled = [lines.sub(lambda m: "".join(f"{m[1]}{i}{m[2]}" for i in range(1, 8)), block) for block in blocks]
    return [example for example in map(yaml.safe_load, filled) if "action" in example]


@pytest.mark.parametrize(("robot", "example"), [("so101", 0), ("panda", 1)])
def test_the_examples_in_the_documentation_are_valid(robot: str, example: int) -> None:
    """For the robot they are about, with the statistics they have."""
    said = documented()[example]
    action = {key: value for key, value in said["action"].items() if key not in ("rows", "step_s", "std")}
    item = StateItem(name="joints", joints=said["state"][0]["joints"])
    found = adapter(profile_of(robot), (item,), **({"relative_to": ""} | action))
    home = profile_of(robot).vector("home")
    np.testing.assert_allclose(
        found.to_joints(found.to_components(home[None], home), home, home).actions[0], home, atol=1e-9
    )

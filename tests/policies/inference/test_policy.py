"""BundlePolicy: every mismatch is found before motion, and an answer is placed, finite and reachable."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto

from tendon.core.errors import InstructionError, IntegrityError, InvalidDataError, MismatchError
from tendon.core.types import Image
from tendon.policies.bundle.bundle import Bundle
from tendon.policies.inference.policy import BundlePolicy
from tendon.policies.spec.manifest import CameraInput
from tendon.policies.spec.spaces import ActionSpace, StateItem
from tendon.robots.kinematics import Kinematics
from tendon.robots.profile import Camera, RobotProfile
from tendon.robots.tool import TOOL_DOWN
from tests.policies.policy_conformance import Observe, PolicyConformance, Prefix

Make = Callable[..., Bundle]


class TestBundlePolicy(PolicyConformance):
    """The conformance class on a bundle, and what is particular to it."""

    @pytest.fixture
    def policy(self, make_bundle: Make, profile: RobotProfile) -> BundlePolicy:
        return BundlePolicy(make_bundle(move=(0.1, 0.05, -0.1, 0.1)), profile)

    def test_the_tool_goes_where_the_model_says(
        self, policy: BundlePolicy, observe: Observe, profile: RobotProfile
    ) -> None:
        """Row k of normalised (k + 1) * move is denormalised, relative to the tool now, pointing down."""
        kinematics = Kinematics(profile)
        origin, _ = kinematics.tool_pose(profile.vector("home"))
        for k, row in enumerate(policy.infer(observe()).actions):
            position, rotation = kinematics.tool_pose(row)
            np.testing.assert_allclose(position - origin, (k + 1) * np.array([0.01, 0.005, -0.01]), atol=2e-4)
            np.testing.assert_allclose(rotation, TOOL_DOWN, atol=2e-4)
            assert row[-1] == pytest.approx(0.02 + (k + 1) * 0.002)

    def test_the_model_sees_prefix_rows_in_its_own_words(
        self, make_bundle: Make, profile: RobotProfile, observe: Observe, make_prefix: Prefix
    ) -> None:
        """This model answers what it is given, so a row past the prefix is the mean, a row of it its tool position."""
        policy = BundlePolicy(make_bundle(), profile)
        seen: dict[str, Any] = {}
        run = policy._model._graph.run
        policy._model._graph.run = lambda feeds: seen.update(feeds) or run(feeds)  # type: ignore[method-assign]
        prefix = make_prefix(2)
        policy.infer(observe(), prefix)
        kinematics = Kinematics(profile)
        origin, _ = kinematics.tool_pose(profile.vector("home"))
        expected = [kinematics.tool_pose(row)[0] - origin for row in prefix.actions]
        np.testing.assert_allclose(seen["prefix"][0, :2, :3] * 0.1, expected, atol=1e-6)
        np.testing.assert_allclose(seen["prefix"][0, :2, 3] * 0.02 + 0.02, prefix.actions[:, -1], atol=1e-6)
        assert not seen["prefix"][0, 2:].any()
        assert seen["prefix_rows"].tolist() == [2]

    def test_state_is_normalised_in_the_order_of_the_manifest(
        self, make_bundle: Make, profile: RobotProfile, observe: Observe
    ) -> None:
        """(x - mean) / std; here the points of the model give it back."""
        policy = BundlePolicy(make_bundle(state_mean=(0.1,) * 7, state_std=(2.0,) * 7), profile)
        policy.infer(observe())
        tool, _ = Kinematics(profile).tool_pose(profile.vector("home"))
        assert policy.last_points is not None
        np.testing.assert_allclose(policy.last_points, [(tool - 0.1) / 2.0] * 2, atol=1e-6)

    def test_equal_observations_give_equal_chunks_warmed_up_or_not(
        self, make_bundle: Make, profile: RobotProfile, observe: Observe
    ) -> None:
        """A run can be repeated, and nothing is drawn at random on the robot."""
        cold, warm = (BundlePolicy(make_bundle(), profile) for _ in range(2))
        warm.warm_up()
        assert warm.last_points is None
        first, again, other = cold.infer(observe()), cold.infer(observe()), warm.infer(observe())
        np.testing.assert_array_equal(first.actions, again.actions)
        np.testing.assert_array_equal(first.actions, other.actions)

    def test_time_in_which_it_did_not_run_is_not_what_an_inference_takes(
        self, make_bundle: Make, profile: RobotProfile
    ) -> None:
        """A busy machine keeps a process waiting: in simulated time that must not become a slower policy."""
        policy = BundlePolicy(make_bundle(), profile)
        run = policy._model._graph.run
        policy._model._graph.run = lambda feeds: time.sleep(0.5) or run(feeds)  # type: ignore[method-assign]
        assert policy.warm_up() < 500_000_000

    def test_the_model_is_given_the_centre_of_the_noise(
        self, make_bundle: Make, profile: RobotProfile, observe: Observe
    ) -> None:
        """Zeros: this model ignores them, a flow would start from them."""
        policy = BundlePolicy(make_bundle(), profile)
        seen: dict[str, Any] = {}
        run = policy._model._graph.run
        policy._model._graph.run = lambda feeds: seen.update(feeds) or run(feeds)  # type: ignore[method-assign]
        policy.infer(observe())
        np.testing.assert_array_equal(seen["noise"], np.zeros((1, 6, 4), np.float32))

    def test_a_target_out_of_reach_holds_the_last_reachable_row(
        self, make_bundle: Make, profile: RobotProfile, observe: Observe
    ) -> None:
        """The arm stays, the finger goes on, and `last` says which rows."""
        policy = BundlePolicy(make_bundle(move=(0.0, 3.0, 3.0, 0.1)), profile)
        actions = policy.infer(observe()).actions
        assert policy.last is not None
        assert policy.last.held_rows
        first = policy.last.held_rows[0]
        held = actions[list(policy.last.held_rows)]
        np.testing.assert_array_equal(held[:, :7], np.tile(actions[first - 1, :7], (len(held), 1)))
        assert actions[-1, 7] == pytest.approx(0.02 + 6 * 0.002)

    def test_a_target_out_of_reach_is_moved_into_the_workspace_first(
        self, make_bundle: Make, profile: RobotProfile, observe: Observe
    ) -> None:
        """2 m to the side of a workspace that ends at 0.5 m: the tool goes to its border."""
        policy = BundlePolicy(make_bundle(move=(0.0, 20.0, 0.0, 0.0)), profile)
        actions = policy.infer(observe()).actions
        assert policy.last is not None
        assert policy.last.clamped_rows == tuple(range(6))
        assert Kinematics(profile).tool_pose(actions[0])[0][1] == pytest.approx(0.5, abs=1e-3)


BIG = CameraInput(name="scene", width=256, height=128)
WRIST = CameraInput(name="wrist", width=96, height=96)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"robot": "ur5e"}, "robot is ur5e, expected panda: take a bundle for this robot"),
        ({"tool_frame": "flange"}, "tool_frame is flange, expected panda_hand_tcp"),
        ({"joint_names": ("a", "b")}, r"joint_names is \['a', 'b'\], expected \['panda_joint1'"),
        ({"cameras": (BIG, WRIST)}, "camera scene size is 256x128, expected 128x128"),
        ({"cameras": (replace(WRIST, name="wirst"),)}, "needs camera wirst: .* did you mean wrist?"),
    ],
)
def test_a_bundle_for_another_robot_is_refused(
    make_bundle: Make, profile: RobotProfile, changes: dict[str, Any], message: str
) -> None:
    """Field, value, expected value and fix."""
    with pytest.raises(MismatchError, match=message):
        BundlePolicy(make_bundle(**changes), profile)


def test_joints_in_another_order_are_refused(make_bundle: Make, profile: RobotProfile) -> None:
    """The same names are not enough: vectors go by order."""
    joints = (profile.joints[1], profile.joints[0], *profile.joints[2:])
    with pytest.raises(MismatchError, match="joint order"):
        BundlePolicy(make_bundle(), replace(profile, joints=joints))


def test_a_robot_without_gripper_or_arm_is_refused(make_bundle: Make, profile: RobotProfile) -> None:
    """The action space needs both."""
    arm = {"arm": profile.groups["arm"]}
    with pytest.raises(MismatchError, match="joints in group gripper is 0, expected 1"):
        BundlePolicy(make_bundle(), replace(profile, groups=arm))
    with pytest.raises(MismatchError, match="no joint group arm"):
        BundlePolicy(make_bundle(), replace(profile, groups={"gripper": profile.groups["gripper"]}, grippers=()))


def test_a_profile_with_one_more_camera_is_fine(make_bundle: Make, profile: RobotProfile) -> None:
    """A policy need not look at everything."""
    spare = Camera(name="spare", width=64, height=64, rate_hz=10.0, frame="spare_optical_frame")
    BundlePolicy(make_bundle(), replace(profile, cameras=(*profile.cameras, spare)))


@pytest.mark.parametrize(
    ("inputs", "outputs", "message"),
    [
        ({"wind": (TensorProto.FLOAT, (1,))}, {}, r"input names is .*'wind'.*, expected .*'tokens'\]: export"),
        ({"tokens": None}, {}, r"input names is \['image_scene'.*, expected .*'tokens'\]"),
        ({"tokens": (TensorProto.INT64, (1, 9))}, {}, r"input tokens shape is \(1, 9\), expected \(1, 8\)"),
        (
            {"tokens": (TensorProto.INT32, (1, 8))},
            {},
            r"input tokens type is tensor\(int32\), expected tensor\(int64\)",
        ),
        ({"state": (TensorProto.FLOAT, ("batch", 7))}, {}, r"input state shape is \('batch', 7\), expected \(1, 7\)"),
        ({"image_wrist": (TensorProto.UINT8, (1, 3, 96, 96))}, {}, r"input image_wrist shape is \(1, 3, 96, 96\)"),
    ],
)
def test_a_graph_that_is_not_what_its_manifest_says_is_refused(
    make_bundle: Make,
    model: Callable[..., bytes],
    profile: RobotProfile,
    inputs: dict[str, Any],
    outputs: dict[str, Any],
    message: str,
) -> None:
    """Names, shapes and types of inputs and outputs."""
    data = model(inputs=inputs, outputs=outputs)
    with pytest.raises(MismatchError, match=message):
        BundlePolicy(make_bundle(data=data), profile)


def test_a_manifest_with_other_rows_than_its_graph_is_refused(make_bundle: Make, profile: RobotProfile) -> None:
    """The chunk length of both must agree, and so must the state."""
    action = ActionSpace(rows=16, step_s=0.1, mean=(0.0,) * 4, std=(1.0,) * 4)
    with pytest.raises(MismatchError, match=r"prefix shape is \(1, 6, 4\), expected \(1, 16, 4\)"):
        BundlePolicy(make_bundle(action=action), profile)
    state = (StateItem(name="tool_position", size=3, unit="m"),)
    with pytest.raises(MismatchError, match=r"state shape is \(1, 7\), expected \(1, 3\)"):
        BundlePolicy(make_bundle(state=state, state_mean=(0.0,) * 3, state_std=(1.0,) * 3), profile)


def test_a_corrupt_model_with_a_right_hash_is_refused(make_bundle: Make, profile: RobotProfile) -> None:
    """It was hashed after it broke."""
    with pytest.raises(IntegrityError):
        BundlePolicy(make_bundle(data=b"\x80\x04}."), profile)


class TestBadInput:
    """Each wrong observation or answer is one clear error, and no chunk."""

    @pytest.fixture
    def policy(self, make_bundle: Make, profile: RobotProfile) -> BundlePolicy:
        return BundlePolicy(make_bundle(), profile)

    def test_a_missing_camera(self, policy: BundlePolicy, observe: Observe) -> None:
        images = {"scene": observe().images["scene"]}
        with pytest.raises(InvalidDataError, match=r"lacks camera wrist \(it has: scene\)"):
            policy.infer(observe(images=images))

    def test_an_image_of_another_size(self, policy: BundlePolicy, observe: Observe) -> None:
        image = Image(stamp_ns=0, pixels=np.zeros((128, 256, 3), np.uint8))
        with pytest.raises(InvalidDataError, match="camera scene gives 256x128 px, the policy sees 128x128"):
            policy.infer(observe(images={**observe().images, "scene": image}))

    def test_another_number_of_joints(self, policy: BundlePolicy, observe: Observe) -> None:
        with pytest.raises(InvalidDataError, match="has 7 joints, expected 8: panda_joint1"):
            policy.infer(observe(joint_position=np.zeros(7), joint_velocity=np.zeros(7)))

    def test_an_unknown_word(self, policy: BundlePolicy, observe: Observe) -> None:
        with pytest.raises(InstructionError, match="does not know 'green'"):
            policy.infer(observe(instruction="put the green cube in the bowl"))
        with pytest.raises(InstructionError, match="does not know 'green'"):
            policy.check_instruction("the green cube")

    def test_a_prefix_longer_than_it_was_trained_for(
        self, policy: BundlePolicy, observe: Observe, make_prefix: Prefix
    ) -> None:
        with pytest.raises(InvalidDataError, match="prefix has 4 frozen rows, the policy continues at most 3"):
            policy.infer(observe(), make_prefix(4))
        with pytest.raises(InvalidDataError, match="prefix has rows of 7 joints, expected 8"):
            policy.infer(observe(), make_prefix(2, joints=7))

    @pytest.mark.parametrize("value", [np.nan, np.inf])
    @pytest.mark.parametrize("output", ["actions", "points"])
    def test_an_answer_that_is_not_finite(
        self, policy: BundlePolicy, observe: Observe, output: str, value: float
    ) -> None:
        run = policy._model._graph.run

        def broken(feeds: Any) -> Any:
            answer = run(feeds)
            answer[output].flat[5] = value
            return answer

        policy._model._graph.run = broken  # type: ignore[method-assign]
        with pytest.raises(InvalidDataError, match=f"{output} .* every value must be finite"):
            policy.infer(observe())

"""The words of a manifest for state and action: what is said twice, not at all or against itself is refused."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
import pytest
import yaml

from tendon.core.errors import ConfigError, MismatchError
from tendon.policies.adapter.state_vector import StateVector
from tendon.policies.spec.components import JointComponent
from tendon.policies.spec.manifest import Manifest, manifest_mapping, parse_manifest
from tendon.policies.spec.spaces import ActionSpace, StateItem
from tendon.robots.profile import load_profile
from tests.policies.conftest import build_manifest

SIZES = {"joint_position": 2, "joint_velocity": 2, "tool_pose": 7}
JOINTS: tuple[dict[str, Any], ...] = ({"joint": "a", "unit": "deg"}, {"joint": "b", "unit": "rad"})


def space(**values: Any) -> ActionSpace:
    """A valid space `joint_position` of joints a and b, and what differs."""
    defaults: dict[str, Any] = {"space": "joint_position", "relative_to": "nothing", "joints": JOINTS}
    chosen = defaults | values
    size = values.pop("size", len(chosen["joints"]))
    chosen.pop("size", None)
    return ActionSpace(**({"rows": 4, "step_s": 0.1, "mean": (0.0,) * size, "std": (1.0,) * size} | chosen))


def pose(**values: Any) -> ActionSpace:
    return space(**({"space": "tool_pose", "rotation": "quaternion_xyzw", "joints": (), "size": 7} | values))


class TestJointComponent:
    @pytest.mark.parametrize(
        ("values", "message"),
        [
            ({"unit": "degrees", "joint": "a"}, r"unit of a component is 'degrees', known: rad, deg, m"),
            ({"unit": "rad"}, "joint of a component in rad is ''"),
            ({"unit": "rad", "joint": "a", "sign": 0}, "component a: sign is 0, known: 1, -1"),
            ({"unit": "rad", "joint": "a", "scale": -1.0}, "component a: scale .* must be a finite number above 0"),
            ({"unit": "rad", "joint": "a", "zero": float("nan")}, "component a: zero"),
            ({"unit": "rad", "joint": "a", "range": (0, 1)}, r"range \(0, 1\), which means nothing in unit rad"),
            ({"unit": "rad", "joint": "a", "open": 1}, "open 1, which means nothing in unit rad"),
            ({"unit": "rad/s", "joint": "a", "zero": 0.1}, "zero 0.1, which means nothing in unit rad/s"),
            ({"unit": "percent", "joint": "a", "sign": -1}, "sign -1, which means nothing in unit percent"),
            ({"unit": "percent", "joint": "a", "open": 1}, r"component a: open is 1, known: 0.0, 100.0"),
            ({"unit": "fraction", "joint": "a", "range": (1.0, 1.0)}, "must be two different positions"),
            ({"unit": "fraction", "joint": "a", "range": (1.0,)}, "component a: range is .* must be 2 finite numbers"),
            ({"unit": "constant", "joint": "a"}, "joint 'a', which means nothing in unit constant"),
            ({"unit": "rad", "joint": "a", "absolute": "no"}, "component a: absolute is 'no'"),
        ],
    )
    def test_what_means_nothing_is_refused(self, values: dict[str, Any], message: str) -> None:
        """A field that does not apply would be believed to do something."""
        with pytest.raises(ConfigError, match=message):
            JointComponent(**values)

    @pytest.mark.parametrize(
        ("values", "number", "joint"),
        [
            ({"unit": "rad"}, 0.5, 0.5),
            ({"unit": "deg"}, 90.0, 1.5707963),
            ({"unit": "deg", "sign": -1, "zero": 0.1}, 90.0, 0.1 - 1.5707963),
            ({"unit": "m", "scale": 0.5}, 0.08, 0.04),
            ({"unit": "rad/s", "scale": 3.0}, 0.5, 1.5),
            ({"unit": "fraction"}, 0.25, -0.5),
            ({"unit": "percent"}, 75.0, 0.5),
            ({"unit": "signed_fraction"}, 0.5, 0.5),
            ({"unit": "signed_percent"}, -100.0, -1.0),
            ({"unit": "fraction", "open": 0}, 0.0, 1.0),
            ({"unit": "percent", "open": 100}, 0.0, -1.0),
            ({"unit": "fraction", "open": 0, "range": (0.8, 0.0)}, 1.0, 0.8),
            ({"unit": "fraction", "open": 1, "range": (0.8, 0.0)}, 1.0, 0.0),
            ({"unit": "fraction", "range": (0.8, 0.0)}, 0.25, 0.6),
        ],
    )
    def test_each_unit_by_hand(self, values: dict[str, Any], number: float, joint: float) -> None:
        """For a joint from -1 to 1."""
        slope, offset = JointComponent(joint="a", **values).affine(-1.0, 1.0)
        assert slope * number + offset == pytest.approx(joint)


class TestActionSpace:
    @pytest.mark.parametrize(
        ("values", "message"),
        [
            ({"space": "joints"}, "action space is 'joints', known: tool_position, tool_pose, joint_position"),
            ({"relative_to": ""}, r"relative_to \(of joint_position\) is '', known: nothing, observation, previous"),
            ({"joints": ()}, "action joints is empty"),
            ({"joints": (*JOINTS, JOINTS[0])}, "action joints and held repeats a"),
            ({"held": ("b",)}, "action joints and held repeats b"),
            ({"held": "b"}, "action held must be a list"),
            ({"joints": ("a",)}, r"action joints\[0\] is 'a', must be a mapping"),
            ({"joints": ({"joint": "a", "unti": "rad"},)}, r"joints\[0\]: unknown key unti; did you mean unit"),
            (
                {"joints": ({"joint": "a", "unit": "rad/s"},)},
                "a has the unit of a speed, but the space is joint_position",
            ),
            ({"space": "joint_velocity", "relative_to": ""}, "joint_velocity, but no unit is one of rad/s"),
            ({"space": "joint_velocity"}, r"relative_to \(of joint_velocity\) is 'nothing', known: previous"),
            ({"rotation": "axis_angle"}, "action rotation is 'axis_angle', known: $"),
            ({"orientation": "tool_down"}, "action orientation is 'tool_down'"),
            ({"frame": "tool"}, r"action frame .* is 'tool', known: base"),
            ({"position_scale": 0.001}, "mean nothing in space joint_position"),
            ({"components": ("a", "c")}, r"action components is \('a', 'c'\), known: \('a', 'b'\)"),
            ({"size": 3}, "action mean is .* must be 2 finite numbers"),
            ({"std": (1.0, 0.0)}, "must be positive"),
            ({"step_s": "0.1"}, "step_s"),
        ],
    )
    def test_what_does_not_agree_is_refused(self, values: dict[str, Any], message: str) -> None:
        with pytest.raises(ConfigError, match=message):
            space(**values)

    @pytest.mark.parametrize(
        ("values", "message"),
        [
            ({"rotation": "rot6d"}, "action rotation is 'rot6d', known: .*rot6d_columns, rot6d_rows"),
            ({"frame": "tool"}, "action frame"),
            ({"rotation_scale": 0.5}, "rotation_scale means nothing for rotation quaternion_xyzw"),
            ({"rotation_tolerance": 4.0}, r"rotation_tolerance \[rad\] is 4.0, must be .* at most 3.2"),
            ({"size": 6}, "must be 7 finite numbers"),
            ({"joints": ({"joint": "a", "unit": "m", "absolute": True},), "size": 8}, "absolute is for joint_position"),
        ],
    )
    def test_a_pose_that_does_not_agree_is_refused(self, values: dict[str, Any], message: str) -> None:
        with pytest.raises(ConfigError, match=message):
            pose(**values)

    def test_components_are_named_by_themselves(self) -> None:
        """And can be said, for people to read."""
        assert space().components == ("a", "b") == space(components=["a", "b"]).components
        grip = ({"joint": "g", "unit": "fraction", "open": 1},)
        assert pose(joints=grip, size=8).components == ("x", "y", "z", *(f"quaternion_xyzw_{i}" for i in range(4)), "g")

    def test_a_space_of_the_tools_position_is_as_it_always_was(self) -> None:
        """Bundles written before this file say no more than that."""
        action = ActionSpace(rows=16, step_s=0.1, mean=(0.0,) * 4, std=(1.0,) * 4)
        assert (action.space, action.relative_to, action.orientation) == ("tool_position", "observation", "tool_down")
        assert action.components == ("dx", "dy", "dz", "finger")


class TestStateItem:
    @pytest.mark.parametrize(
        ("values", "message"),
        [
            ({"name": "elbow"}, "state name is 'elbow', known: tool_position"),
            ({"name": "tool_position", "size": 4, "unit": "m"}, "tool_position: size is 4, known: 3"),
            ({"name": "tool_position", "size": 3, "unit": "mm"}, "tool_position: unit is 'mm', known: m"),
            ({"name": "joints"}, "lists 0 joints: only `joints` does, and must"),
            ({"name": "joints", "joints": (JOINTS[0], JOINTS[0])}, "state joints repeats"),
            ({"name": "joints", "joints": JOINTS, "size": 3}, "state joints: size is 3, known: 2"),
            ({"name": "tool_position", "size": 3, "unit": "m", "joints": JOINTS}, "only `joints` does"),
            ({"name": "tool_rotation"}, "tool_rotation: rotation is '', known: axis_angle"),
            ({"name": "joints", "joints": JOINTS, "rotation": "axis_angle"}, "has rotation 'axis_angle'"),
        ],
    )
    def test_what_does_not_agree_is_refused(self, values: dict[str, Any], message: str) -> None:
        with pytest.raises(ConfigError, match=message):
            StateItem(**values)

    def test_sizes_follow_from_what_is_listed(self) -> None:
        assert StateItem(name="joints", joints=JOINTS).size == 2  # type: ignore[arg-type]
        assert StateItem(name="tool_rotation", rotation="rot6d_rows").size == 6

    def test_constants_may_repeat(self) -> None:
        """A state padded to 32 has many."""
        item = StateItem(name="joints", joints=({"unit": "constant"},) * 18)  # type: ignore[arg-type]
        assert item.size == 18


def test_every_word_survives_the_yaml() -> None:
    """Written, read and compared."""
    grip = {"joint": "g", "unit": "percent", "open": 100, "range": [0.0, 0.04]}
    manifest: Manifest = build_manifest(
        state=(
            StateItem(name="joints", joints=({"joint": "a", "unit": "deg", "sign": -1, "zero": 0.5}, grip)),  # type: ignore[arg-type]
            StateItem(name="tool_rotation", rotation="rot6d_columns", frame="flange", frame_rpy=(0.0, 0.5, 0.0)),
            StateItem(name="joints", joints=({"joint": "a", "unit": "rad/s", "scale": 3.0},)),  # type: ignore[arg-type]
        ),
        state_mean=(0.0,) * 9,
        state_std=(1.0,) * 9,
        action=pose(
            rotation="rot6d_rows", relative_to="observation", frame="tool", joints=(grip,), size=10, held=("z",)
        ),
    )
    text = yaml.safe_dump(manifest_mapping(manifest))
    assert parse_manifest(yaml.safe_load(text)) == manifest
    assert "null" not in text
    assert asdict(parse_manifest(yaml.safe_load(text))) == asdict(manifest)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"name": "tool_velocity", "size": 3, "unit": "m/s", "frame": "a"}, "with a frame.* known: tool_position"),
        ({"name": "tool_position", "size": 3, "unit": "m", "frame": ""}, "state tool_position: frame"),
        ({"name": "tool_position", "size": 3, "unit": "m", "frame_rpy": (0, 0, 0)}, "with a frame_rpy.* tool_rotation"),
        ({"name": "tool_rotation", "rotation": "axis_angle", "frame_rpy": (0, 0)}, "frame_rpy .*must be 3"),
        ({"name": "tool_rotation", "rotation": "axis_angle", "frame_rpy": (0, 0, float("nan"))}, "3 finite numbers"),
    ],
)
def test_a_frame_that_does_not_belong_is_refused(values: dict[str, Any], message: str) -> None:
    """With the item, and what would fit."""
    with pytest.raises(ConfigError, match=message):
        StateItem(**values)


def test_a_frame_that_the_robot_lacks_is_named() -> None:
    """At start, not at the first observation."""
    item = StateItem(name="tool_rotation", rotation="axis_angle", frame="flange")
    with pytest.raises(MismatchError, match=r"state tool_rotation is of frame flange: .* has no such link; known: "):
        StateVector("policy p", (item,), np.zeros(3), load_profile("panda"))

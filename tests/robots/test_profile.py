"""The robot profile: Panda's published limits, and an error that names the fix for every mistake."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from tendon.core.errors import ConfigError
from tendon.core.paths import share_folder
from tendon.robots.profile import RobotProfile, load_profile, profile_file
from tests.robots.calibrated import calibration_file

# libfranka 0.9.2 and franka_description, joints 1 to 7, then our own limits for the finger.
LOWER = [-2.8973, -1.7628, -2.8973, -3.0718, -2.8973, -0.0175, -2.8973, 0.0]
UPPER = [2.8973, 1.7628, 2.8973, -0.0698, 2.8973, 3.7525, 2.8973, 0.04]
VELOCITY = [2.175, 2.175, 2.175, 2.175, 2.61, 2.61, 2.61, 0.1]
ACCELERATION = [15, 7.5, 10, 12.5, 15, 20, 20, 1.0]
JERK = [7500, 3750, 5000, 6250, 7500, 10000, 10000, 200]


@pytest.fixture
def values() -> dict[str, Any]:
    """The Panda profile as YAML reads it, to be broken."""
    folder = share_folder() / "robots" / "panda"
    loaded: dict[str, Any] = yaml.safe_load((folder / "profile.yaml").read_text(encoding="utf-8"))
    loaded["urdf"] = str(folder / loaded["urdf"])
    loaded["collisions"] = str(folder / loaded["collisions"])
    return loaded


def load(values: dict[str, Any], folder: Path) -> RobotProfile:
    path = folder / "profile.yaml"
    path.write_text(yaml.safe_dump(values), encoding="utf-8")
    return load_profile(path)


class TestPanda:
    @pytest.mark.parametrize(
        ("attribute", "expected"),
        [
            ("lower", LOWER),
            ("upper", UPPER),
            ("velocity", VELOCITY),
            ("acceleration", ACCELERATION),
            ("jerk", JERK),
        ],
    )
    def test_limits_are_the_published_ones(self, attribute: str, expected: list[float]) -> None:
        assert load_profile("panda").vector(attribute).tolist() == expected

    def test_joints_are_in_order_and_the_finger_is_last(self) -> None:
        profile = load_profile("panda")
        assert profile.joint_names == (*(f"panda_joint{i}" for i in range(1, 8)), "panda_finger_joint1")
        assert profile.group_indices("arm") == list(range(7))
        assert profile.group_indices("gripper") == [7]

    def test_vectors_are_read_only(self) -> None:
        with pytest.raises(ValueError, match="read-only"):
            load_profile("panda").vector("velocity")[0] = 99.0

    def test_a_profile_can_be_given_by_path(self) -> None:
        path = share_folder() / "robots" / "panda" / "profile.yaml"
        assert load_profile(path).joint_names == load_profile("panda").joint_names

    def test_cameras_are_found_by_name(self) -> None:
        assert (load_profile("panda").camera("scene").width, load_profile("panda").camera("wrist").width) == (128, 96)


@pytest.mark.parametrize("said", ["mine", "robots/mine", "robots/mine/profile.yaml"])
def test_a_robot_of_the_working_folder_is_found_by_its_name(
    said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`tendon robot new mine` leaves it there. One that comes with Tendon keeps its name."""
    for name in ("mine", "panda"):
        (tmp_path / "robots" / name).mkdir(parents=True)
        (tmp_path / "robots" / name / "profile.yaml").touch()
    monkeypatch.chdir(tmp_path)
    assert profile_file(said) == Path("robots/mine/profile.yaml")
    assert profile_file("panda").is_absolute() and profile_file("robots/panda").stat().st_size == 0


class TestMistakes:
    """Every one is a ConfigError whose message holds the name, and what was meant."""

    def test_the_unbroken_values_load(self, values: dict[str, Any], tmp_path: Path) -> None:
        np.testing.assert_array_equal(load(values, tmp_path).vector("lower"), LOWER)

    def test_an_unknown_robot_names_the_closest(self) -> None:
        with pytest.raises(ConfigError, match=r"no robot profile at .*pnda.*did you mean panda\?"):
            load_profile("pnda")

    def test_a_robot_that_is_nowhere_names_each_place_where_it_was_looked_for(self) -> None:
        places = r"no robot profile at /.*/robots/robots/pnda/profile\.yaml or .* or robots/pnda/profile\.yaml; did you"
        with pytest.raises(ConfigError, match=rf"{places} mean panda\?"):
            load_profile("robots/pnda")

    def test_a_robot_without_a_name(self) -> None:
        with pytest.raises(ConfigError, match=r"no robot is named; known: .*panda.*, or give the folder"):
            load_profile("")

    @pytest.mark.parametrize(
        ("change", "says"),
        [
            ({"grippers": "hand"}, r"profile panda: gripper panda_finger_joint1 .* no joint group hand; known: arm"),
            ({"human": "wrst"}, r"profile panda: human names camera wrst; did you mean wrist\?"),
        ],
    )
    def test_the_name_of_the_profile_is_said_once(
        self, change: dict[str, str], says: str, values: dict[str, Any], tmp_path: Path
    ) -> None:
        if "grippers" in change:
            values["grippers"][0]["group"] = change["grippers"]
        else:
            values["human"] = {"topic": "people", "camera": change["human"]}
        with pytest.raises(ConfigError, match=says) as raised:
            load(values, tmp_path)
        assert str(raised.value).count("profile panda") == 1

    def test_a_decimal_comma(self, tmp_path: Path) -> None:
        text = (share_folder() / "robots" / "panda" / "profile.yaml").read_text(encoding="utf-8")
        path = tmp_path / "profile.yaml"
        path.write_text(text.replace("velocity: 2.175", "velocity: 2,175", 1), encoding="utf-8")
        with pytest.raises(ConfigError, match="unknown key 175, a number: write decimals with a point"):
            load_profile(path)

    def test_an_unknown_key_names_the_closest(self, values: dict[str, Any], tmp_path: Path) -> None:
        values["tool_fram"] = values.pop("tool_frame")
        with pytest.raises(ConfigError, match=r"unknown key tool_fram; did you mean tool_frame\?"):
            load(values, tmp_path)

    def test_an_unknown_joint_key_says_in_which_joint(self, values: dict[str, Any], tmp_path: Path) -> None:
        values["joints"][3]["velocty"] = 1.0
        with pytest.raises(ConfigError, match=r"joints\[3\]: unknown key velocty; did you mean velocity\?"):
            load(values, tmp_path)

    @pytest.mark.parametrize("key", ["name", "urdf", "joints", "workspace", "controllers", "groups"])
    def test_a_missing_key_is_named(self, key: str, values: dict[str, Any], tmp_path: Path) -> None:
        del values[key]
        with pytest.raises(ConfigError, match=f"lacks {key}"):
            load(values, tmp_path)

    def test_a_group_of_a_joint_that_is_not_there(self, values: dict[str, Any], tmp_path: Path) -> None:
        values["groups"]["arm"][0] = "panda_join1"
        with pytest.raises(ConfigError, match=r"arm names joint panda_join1; did you mean panda_joint1\?"):
            load(values, tmp_path)

    def test_a_joint_without_a_controller(self, values: dict[str, Any], tmp_path: Path) -> None:
        del values["controllers"][1]
        with pytest.raises(ConfigError, match=r"needs exactly one"):
            load(values, tmp_path)

    def test_a_joint_with_two_controllers(self, values: dict[str, Any], tmp_path: Path) -> None:
        values["controllers"][1]["joints"].append("panda_joint1")
        with pytest.raises(ConfigError, match=r"needs exactly one"):
            load(values, tmp_path)

    def test_an_unknown_controller_type_lists_the_known(self, values: dict[str, Any], tmp_path: Path) -> None:
        values["controllers"][0]["type"] = "magic"
        with pytest.raises(ConfigError, match=r"type is 'magic', known: joint_trajectory, forward_command"):
            load(values, tmp_path)

    @pytest.mark.parametrize(
        ("key", "value"),
        [("upper", 170.0), ("lower", -90.0), ("velocity", 1e300), ("jerk", 1e9), ("tracking_tolerance", 1e9)],
    )
    def test_degrees_and_numbers_that_no_arm_has(
        self, key: str, value: float, values: dict[str, Any], tmp_path: Path
    ) -> None:
        values["joints"][2][key] = value
        with pytest.raises(ConfigError, match=rf"panda_joint3: {key} is .*, must be .*at most"):
            load(values, tmp_path)

    @pytest.mark.parametrize("joint", range(7))
    def test_an_arm_that_nobody_watches(self, joint: int, values: dict[str, Any], tmp_path: Path) -> None:
        del values["joints"][joint]["tracking_tolerance"]
        with pytest.raises(ConfigError, match=f"joint panda_joint{joint + 1} has no tracking_tolerance.*such as 0.1"):
            load(values, tmp_path)

    @pytest.mark.parametrize("robot", ["panda_pair", "g1_arms", "talos_upper", "so101_pair"])
    def test_a_second_arm_or_a_head_that_nobody_watches(self, robot: str, tmp_path: Path) -> None:
        """It loaded and could be armed: nothing noticed that these joints stuck, raced or did not follow."""
        folder, whole = share_folder() / "robots" / robot, load_profile(robot)
        for group, members in whole.groups.items():
            values = yaml.safe_load((folder / "profile.yaml").read_text(encoding="utf-8"))
            values |= {key: str(folder / values[key]) for key in ("urdf", "collisions")}
            watched = [
                joint for joint in values["joints"] if joint["name"] in members and "tracking_tolerance" in joint
            ]
            assert watched or group.endswith("gripper")
            for joint in watched:
                del joint["tracking_tolerance"]
            if watched:
                with pytest.raises(ConfigError, match=f"joint {watched[0]['name']} has no tracking_tolerance"):
                    load(values, tmp_path)

    def test_a_joint_that_holds_is_one_of_a_gripper_and_of_nothing_else(
        self, values: dict[str, Any], tmp_path: Path
    ) -> None:
        del values["grippers"]
        assert not np.isfinite(load(values, tmp_path).tracking_tolerance[7]), "the group gripper says so"
        values["groups"]["all"] = [joint["name"] for joint in values["joints"]]
        with pytest.raises(
            ConfigError, match=r"joint panda_finger_joint1 has no tracking_tolerance.* of a group gripper"
        ):
            load(values, tmp_path)
        del values["groups"]["all"], values["groups"]["gripper"]
        with pytest.raises(ConfigError, match="joint panda_finger_joint1 has no tracking_tolerance"):
            load(values, tmp_path)

    @pytest.mark.parametrize("value", [0.0, -0.1, float("nan"), float("inf")])
    def test_a_tracking_tolerance_that_tolerates_all_or_nothing(
        self, value: float, values: dict[str, Any], tmp_path: Path
    ) -> None:
        values["joints"][2]["tracking_tolerance"] = value
        with pytest.raises(ConfigError, match=r"panda_joint3: tracking_tolerance is .*, must be .*above 0"):
            load(values, tmp_path)

    @pytest.mark.parametrize("limit", ["velocity", "acceleration", "jerk"])
    @pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf")])
    def test_a_limit_that_limits_nothing(
        self, limit: str, value: float, values: dict[str, Any], tmp_path: Path
    ) -> None:
        values["joints"][2][limit] = value
        with pytest.raises(ConfigError, match=rf"panda_joint3: {limit} is .*, must be .*above 0"):
            load(values, tmp_path)

    @pytest.mark.parametrize(
        ("place", "says"),
        [
            (("joints", 2, "lower"), r"joints\[2\]: joint panda_joint3: lower"),
            (("joints", 2, "velocity"), r"joints\[2\]: joint panda_joint3: velocity"),
            (("joints", 2, "home"), r"joints\[2\]: joint panda_joint3: home"),
            (("joints", 2, "tracking_tolerance"), r"joints\[2\]: joint panda_joint3: tracking_tolerance"),
            (("controllers", 0, "timeout_s"), r"controllers\[0\]: controller panda_arm_controller: timeout_s"),
            (("cameras", 1, "rate_hz"), r"cameras\[1\]: camera wrist: rate_hz"),
            (("workspace", "upper", 2), r"workspace: box: upper z \[m\]"),
            (("human", "radius"), r"human: human radius"),
            (("control_hz",), r"control_hz"),
            (("tool_speed",), r"tool_speed \[m/s\]"),
            (("camera_skew_s",), r"camera_skew_s"),
        ],
    )
    @pytest.mark.parametrize(
        ("value", "wrong"),
        [
            ("5e-2", "is '5e-2', which YAML reads as text: write 0.05"),
            ("fast", "is 'fast', must be a finite number"),
            (float("nan"), "is nan, must be a finite number"),
            (float("inf"), "is inf, must be a finite number"),
            (True, "is True, must be a finite number"),
            ([1.0], r"is .1\.0.?., must be a finite number"),
        ],
    )
    def test_a_number_that_is_none_says_file_key_value_and_what_fits(
        self, place: tuple[Any, ...], says: str, value: object, wrong: str, values: dict[str, Any], tmp_path: Path
    ) -> None:
        values["human"] = {"topic": "people", "radius": 0.5}
        inner: Any = values
        for key in place[:-1]:
            inner = inner[key]
        inner[place[-1]] = value
        with pytest.raises(ConfigError, match=rf"{tmp_path}/profile\.yaml.*{says} {wrong}"):
            load(values, tmp_path)

    @pytest.mark.parametrize(("key", "value"), [("width", 12.5), ("height", 0), ("width", "128"), ("height", 10**6)])
    def test_an_image_size_that_is_none(self, key: str, value: object, values: dict[str, Any], tmp_path: Path) -> None:
        values["cameras"][0][key] = value
        with pytest.raises(ConfigError, match=rf"camera scene: {key} \[px\] is .*, must be a whole number from 1"):
            load(values, tmp_path)

    @pytest.mark.parametrize("name", ["arm controller", "2nd", "a//b", "", None, 5, True])
    @pytest.mark.parametrize("part", ["controllers", "cameras"])
    def test_a_name_no_topic_can_have(self, part: str, name: object, values: dict[str, Any], tmp_path: Path) -> None:
        values[part][0]["name"] = name
        with pytest.raises(ConfigError, match=rf"{part[:-1]} name is .*(no ROS topic|non-empty text)"):
            load(values, tmp_path)

    @pytest.mark.parametrize("key", ["joints", "controllers", "cameras", "groups", "human", "workspace"])
    @pytest.mark.parametrize("value", [5, "text", [5], {"arm": 5}, [[1]]])
    def test_a_part_of_another_type_is_an_error_and_no_traceback(
        self, key: str, value: object, values: dict[str, Any], tmp_path: Path
    ) -> None:
        values[key] = value
        with pytest.raises(ConfigError, match=key):
            load(values, tmp_path)

    def test_a_range_that_is_empty(self, values: dict[str, Any], tmp_path: Path) -> None:
        values["joints"][0]["lower"] = 3.0
        with pytest.raises(ConfigError, match=r"panda_joint1: lower 3.0 must be below upper 2.8973"):
            load(values, tmp_path)

    def test_a_home_out_of_range(self, values: dict[str, Any], tmp_path: Path) -> None:
        values["joints"][3]["home"] = 0.0
        with pytest.raises(ConfigError, match=r"panda_joint4: home 0.0 is outside \[-3.0718, -0.0698\]"):
            load(values, tmp_path)

    def test_a_joint_twice(self, values: dict[str, Any], tmp_path: Path) -> None:
        values["joints"].append(values["joints"][0])
        with pytest.raises(ConfigError, match="joint names repeat"):
            load(values, tmp_path)

    @pytest.mark.parametrize("lower", [[0.0, 0.0], [0.9, -0.5, 0.0], [float("nan"), -0.5, 0.0], ["a", 0.0, 0.0]])
    def test_a_workspace_without_a_volume(self, lower: list[Any], values: dict[str, Any], tmp_path: Path) -> None:
        values["workspace"]["lower"] = lower
        with pytest.raises(ConfigError, match=r"workspace|box"):
            load(values, tmp_path)

    @pytest.mark.parametrize("name", ["my robot/1", "../panda", ".panda", ""])
    def test_a_name_that_no_file_can_have(self, name: str, values: dict[str, Any], tmp_path: Path) -> None:
        values["name"] = name
        with pytest.raises(ConfigError, match="profile name is"):
            load(values, tmp_path)

    @pytest.mark.parametrize("rate_hz", [0, -100, 49.0, float("nan")])
    def test_a_control_rate_that_is_none(self, rate_hz: float, values: dict[str, Any], tmp_path: Path) -> None:
        values["control_hz"] = rate_hz
        with pytest.raises(ConfigError, match=r"control_hz is .* must be a finite number at least 50"):
            load(values, tmp_path)

    def test_a_calibration_that_is_not_there(self, values: dict[str, Any], tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match=rf"calibration {tmp_path}/calibration\.yaml does not exist; put"):
            load(values | {"calibration": "calibration.yaml"}, tmp_path)

    def test_a_calibration_counts_from_the_folder_of_the_profile(self, values: dict[str, Any], tmp_path: Path) -> None:
        calibration_file(tmp_path)
        assert load(values | {"calibration": "calibration.yaml"}, tmp_path).calibration == tmp_path / "calibration.yaml"
        assert load(values, tmp_path).calibration is None

    def test_a_urdf_that_is_not_there(self, values: dict[str, Any], tmp_path: Path) -> None:
        values["urdf"] = "gone.urdf"
        with pytest.raises(ConfigError, match=r"URDF .*gone.urdf does not exist"):
            load(values, tmp_path)
        (tmp_path / "one.urdf").touch()
        with pytest.raises(ConfigError, match=r"oen.urdf does not exist; did you mean one\.urdf\?"):
            load(values | {"urdf": "oen.urdf"}, tmp_path)

    @pytest.mark.parametrize("text", ["", "- a list", "just text"])
    def test_a_file_that_holds_no_mapping(self, text: str, tmp_path: Path) -> None:
        path = tmp_path / "profile.yaml"
        path.write_text(text, encoding="utf-8")
        with pytest.raises(ConfigError, match="must hold a mapping"):
            load_profile(path)

    def test_a_file_that_is_not_yaml(self, tmp_path: Path) -> None:
        path = tmp_path / "profile.yaml"
        path.write_text("joints: [", encoding="utf-8")
        with pytest.raises(ConfigError, match="is not YAML"):
            load_profile(path)

    def test_a_camera_or_group_that_is_not_there_names_the_closest(self) -> None:
        profile = load_profile("panda")
        with pytest.raises(ConfigError, match=r"no camera wrst; did you mean wrist\?"):
            profile.camera("wrst")
        with pytest.raises(ConfigError, match=r"no joint group leg; known: arm, gripper"):
            profile.group_indices("leg")


class TestCameraSkew:
    """How far apart in time frames of one observation may be."""

    def test_by_default_it_is_what_the_slowest_free_running_camera_needs(
        self, values: dict[str, Any], tmp_path: Path
    ) -> None:
        """Half a period and a tenth: 30 ms at 20 Hz, whatever a faster camera does."""
        values["cameras"][1]["rate_hz"] = 60.0
        profile = load(values, tmp_path)
        assert profile.camera_skew(["scene", "wrist"]) == pytest.approx(0.03)
        assert profile.camera_skew(["wrist"]) == pytest.approx(0.01)
        assert profile.camera_skew([]) == 0.0

    def test_the_profile_has_the_last_word(self, values: dict[str, Any], tmp_path: Path) -> None:
        assert load(values | {"camera_skew_s": 0.005}, tmp_path).camera_skew(["scene", "wrist"]) == 0.005

    @pytest.mark.parametrize("skew_s", [0, -0.01, 0.3, float("nan"), float("inf"), "10 ms", [0.01]])
    def test_a_bound_that_is_none(self, values: dict[str, Any], tmp_path: Path, skew_s: object) -> None:
        with pytest.raises(
            ConfigError,
            match=r"camera_skew_s is .*, must be a finite number above 0 and at most 0\.2",
        ):
            load(values | {"camera_skew_s": skew_s}, tmp_path)

    @pytest.mark.parametrize("rate_hz", [0, -30, float("nan"), "fast"])
    def test_a_camera_without_a_rate(self, values: dict[str, Any], tmp_path: Path, rate_hz: object) -> None:
        values["cameras"][0]["rate_hz"] = rate_hz
        with pytest.raises(ConfigError, match=r"camera scene: rate_hz is .*, must be a finite number above 0"):
            load(values, tmp_path)

"""What axes and keys mean: the shipped maps, maps of a user, and what is wrong with one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tendon.core.errors import ConfigError
from tendon.teleop.axis_map import AxisMap, load_map, read_map
from tendon.teleop.device import Reading
from tendon.teleop.maps import MAPS
from tendon.teleop.opening import PLUGINS

SHIPPED = {kind: read_map(text, kind) for kind, text in MAPS.items()}
AXES = st.dictionaries(st.sampled_from(["ABS_X", "ABS_Y", "ABS_RY", "x", "yaw"]), st.floats(-1e9, 1e9), max_size=5)


def test_every_kind_has_a_map_that_is_read() -> None:
    assert set(SHIPPED) == set(PLUGINS)


def test_keys_and_axes_become_a_velocity_of_the_tool() -> None:
    keyboard, pad = SHIPPED["keyboard"], SHIPPED["gamepad"]
    assert keyboard.intent(Reading(pressed=frozenset("w"))).twist.tolist() == [0.2, 0, 0, 0, 0, 0]
    assert keyboard.intent(Reading(pressed=frozenset("ws"))).twist.tolist() == [0] * 6, "they cancel out"
    assert keyboard.intent(Reading(pressed=frozenset("ws"))).held is False
    assert keyboard.intent(Reading(pressed=frozenset("c"))).gripper == -1.5
    assert keyboard.intent(Reading(pressed=frozenset(["space"]))).held
    assert not keyboard.intent(Reading(pressed=frozenset(["unknown"]))).held, "any other key lets go"
    half = pad.intent(Reading(axes={"ABS_Y": -0.55}, pressed=frozenset(["BTN_TL"])))
    assert half.held and half.twist[0] == pytest.approx(0.1)
    assert not pad.intent(Reading(axes={"ABS_Y": -1.0})).held, "a stick alone moves nothing"
    assert pad.intent(Reading(axes={"ABS_Y": -0.09})).twist.tolist() == [0] * 6, "in its dead zone"


@given(axes=AXES, pressed=st.frozensets(st.sampled_from(["w", "s", "a", "BTN_TL", "button0", "space"])))
def test_no_reading_asks_for_more_than_the_map_says(axes: dict[str, float], pressed: frozenset[str]) -> None:
    for axis_map in SHIPPED.values():
        intent = axis_map.intent(Reading(axes=axes, pressed=pressed))
        assert (np.abs(intent.twist[:3]) <= axis_map.linear_speed).all()
        assert (np.abs(intent.twist[3:]) <= axis_map.angular_speed).all()
        assert abs(intent.gripper) <= axis_map.gripper_speed


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("hold: []", "hold is empty"),
        ("axes: {x: [w]}", "lacks hold"),
        ("hold: [w]\naxes: {xx: [w]}", "axes has xx; did you mean x?"),
        ("hold: [w]\nlinear_sped: 1", "unknown key linear_sped; did you mean linear_speed?"),
        ("hold: [w]\nlinear_speed: 3", "must be"),
        ("hold: [w]\nlinear_speed: .nan", "linear_speed"),
        ("hold: [w]\nframe: world", "frame"),
        ("hold: [w]\ndeadzone: 1", "deadzone"),
        ("- 3", "must be a mapping"),
        ("hold: w", "hold"),
    ],
)
def test_a_wrong_map_is_one_clear_error(text: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "map.yaml"
    file.write_text(text)
    with pytest.raises(ConfigError, match=said.replace("?", r"\?")):
        load_map(file)


def test_a_map_that_is_not_there_says_how_to_begin(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="--show-map"):
        load_map(tmp_path / "none.yaml")


def test_two_keys_for_one_axis_and_axes_of_the_tool() -> None:
    own = AxisMap(hold=("PEDAL",), axes={"z": ("up", "W", "-down")}, frame="tool", deadzone=0.0)
    assert own.intent(Reading(pressed=frozenset(["up", "W"]))).twist[2] == own.linear_speed
    assert own.intent(Reading(pressed=frozenset(["down"]))).twist[2] == -own.linear_speed
    assert own.intent(Reading()).in_tool

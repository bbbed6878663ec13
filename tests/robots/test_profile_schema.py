"""The JSON schema of profiles takes what the loader takes, and refuses what it refuses, as far as one file can tell."""

from __future__ import annotations

import copy
import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from tendon.core.errors import ConfigError
from tendon.core.json_schema import field_meanings, schema_text
from tendon.robots.profile import RobotProfile, load_profile
from tendon.robots.profile_parts import Camera, Joint
from tendon.robots.safety_settings import SafetySettings, bounds_of
from tests import ROOT

FILE = ROOT / "robots" / "profile.schema.json"
PROFILES = sorted((ROOT / "robots").glob("*/profile.yaml"))
SCHEMA = json.loads(schema_text(RobotProfile))
CHECKER = jsonschema.Draft7Validator(SCHEMA)
PANDA = yaml.safe_load((ROOT / "robots" / "panda" / "profile.yaml").read_text(encoding="utf-8"))
PANDA |= {"human": {"topic": "people"}, "safety": {"late_ticks": 2}, "tool_speed": 1.0, "camera_skew_s": 0.1}
PANDA["controllers"][0]["timeout_s"] = 0.1
FOLDER = ROOT / "robots" / "panda"


def test_the_file_is_the_one_that_the_command_prints() -> None:
    """Made by `tendon robot schema > robots/profile.schema.json`."""
    assert FILE.read_text(encoding="utf-8") == schema_text(RobotProfile)


def test_it_is_a_schema_that_says_what_keys_mean() -> None:
    jsonschema.Draft7Validator.check_schema(SCHEMA)
    joint = SCHEMA["properties"]["joints"]["items"]["properties"]
    assert joint["jerk"]["description"] == "largest jerk, rad/s^3 or m/s^3."
    assert joint["tracking_tolerance"]["description"].endswith("like a gripper on an object.")
    late = SCHEMA["properties"]["safety"]["properties"]["late_ticks"]
    assert (late["minimum"], late["maximum"], late["default"]) == (1, 5, 5)
    assert late["type"] == "integer" and late["description"].startswith("Late control ticks in a row")
    assert field_meanings(Camera)["frame"] == "its optical frame."


@pytest.mark.parametrize("path", PROFILES, ids=lambda path: path.parent.name)
def test_every_shipped_profile_fits_and_names_it(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    CHECKER.validate(yaml.safe_load(text))
    first = text.splitlines()[0]
    assert first.startswith("# yaml-language-server: $schema=")
    assert (path.parent / first.partition("=")[2]).resolve() == FILE


def loads(values: dict[str, Any], folder: Path) -> bool:
    """Whether the loader takes a profile."""
    absolute = {key: str(FOLDER / values[key]) for key in ("urdf", "collisions") if isinstance(values.get(key), str)}
    path = folder / "profile.yaml"
    path.write_text(json.dumps(values | absolute), encoding="utf-8")  # which is YAML too, and faster written
    try:
        load_profile(path)
    except ConfigError:
        return False
    return True


def changed(place: tuple[Any, ...], value: object) -> dict[str, Any]:
    """Returns the Panda's profile with another value at a place."""
    values = copy.deepcopy(PANDA)
    inner: Any = values
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    return values


LIMITS = [("joints", 2, field.name) for field in fields(Joint)]
PLACES = [
    *LIMITS,
    ("joints",),
    ("joints", 2),
    *(("controllers", 0, key) for key in ("name", "type", "joints", "timeout_s")),
    *(("cameras", 0, key) for key in ("name", "width", "height", "rate_hz", "frame")),
    *(("human", key) for key in ("topic", "radius", "speed", "separation")),
    *((key,) for key in ("name", "control_hz", "tool_speed", "camera_skew_s", "groups", "workspace", "human")),
    *((key,) for key in ("base_frame", "tool_frame", "tool_fram", "urdf", "safety", "controllers", "cameras")),
    ("workspace", "lower"),
    ("workspace", "lower", 1),
    ("groups", "arm"),
    ("groups", "arm", 0),
    *(("safety", key) for key in ("late_ticks", "slow_share", "heartbeat_age_s", "late_tick")),
]
VALUES = ["text", "5e-2", "a b", "", -1, 0, 0.02, 1.5, 2000, True, ["a", "a"], [1, 2], [0.0, 0.0, 0.0], {"a": 1}, 5]


@pytest.mark.parametrize("place", PLACES, ids=lambda place: ".".join(map(str, place)))
def test_what_the_schema_refuses_the_loader_refuses(place: tuple[Any, ...], tmp_path: Path) -> None:
    """And what no other value and no other file decides, the other way round."""
    refused = 0
    for value in VALUES:
        values = changed(place, value)
        if not CHECKER.is_valid(values):
            refused += 1
            assert not loads(values, tmp_path), value
    assert refused >= 3


@pytest.mark.parametrize(
    ("place", "value"),
    [
        *((limit, -1.0) for limit in LIMITS if limit[-1] in ("velocity", "acceleration", "jerk", "tracking_tolerance")),
        (("joints", 2, "velocity"), "5e-2"),
        (("joints", 2, "velocity"), True),
        (("joints", 2, "velocty"), 1.0),
        (("controllers", 0, "type"), "magic"),
        (("controllers", 0, "timeout_s"), 0.6),
        (("controllers", 0, "name"), "a__b"),
        (("cameras", 0, "width"), 12.5),
        (("cameras", 0, "rate_hz"), 1001),
        (("workspace", "upper"), [1.0, 1.0]),
        (("groups", "arm"), ["panda_joint1", "panda_joint1"]),
        (("human", "radius"), 11),
        (("control_hz",), 9),
        (("name",), "../panda"),
        (("camera_skew_s",), 0.3),
        (("tool_fram",), "panda_hand"),
        *((("safety", f.name), 1e9) for f in fields(SafetySettings)),
        *(
            (("safety", f.name), 0.999 * min(bounds_of(f.name).tightest, bounds_of(f.name).loosest))
            for f in fields(SafetySettings)
        ),
    ],
)
def test_both_refuse_a_broken_profile(place: tuple[Any, ...], value: object, tmp_path: Path) -> None:
    values = changed(place, value)
    assert not CHECKER.is_valid(values) and not loads(values, tmp_path)


@pytest.mark.parametrize("key", SCHEMA["required"])
def test_both_miss_a_key(key: str, tmp_path: Path) -> None:
    values = {name: value for name, value in PANDA.items() if name != key}
    assert not CHECKER.is_valid(values) and not loads(values, tmp_path)


def test_both_take_the_profile_that_was_broken(tmp_path: Path) -> None:
    assert CHECKER.is_valid(PANDA) and loads(PANDA, tmp_path)

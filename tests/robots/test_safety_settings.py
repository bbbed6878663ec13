"""Safety thresholds: no profile loosens one beyond its bound, and a mistake is named with what to write."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tendon.core.config import build
from tendon.core.errors import ConfigError
from tendon.core.paths import share_folder
from tendon.robots.profile import load_profile
from tendon.robots.safety_settings import SafetySettings, bounds_of
from tests import ROOT
from tests.laws import law_settings

NAMES = [field.name for field in fields(SafetySettings)]
DEFAULTS = SafetySettings()
ANYTHING = st.floats() | st.integers() | st.booleans() | st.text(max_size=4) | st.none()


def looser(name: str, value: float, than: float) -> bool:
    """Whether a value of a field protects less than another."""
    bounds = bounds_of(name)
    return value > than if bounds.tightest < bounds.loosest else value < than


def near(name: str) -> st.SearchStrategy[tuple[str, Any]]:
    """A field with a value inside its bounds, a little outside, or of any kind."""
    ends = bounds_of(name).tightest, bounds_of(name).loosest
    numbers = st.floats(0.9 * min(ends), 1.1 * max(ends)) | st.integers(0, int(max(ends)) + 1) | st.sampled_from(ends)
    return st.tuples(st.just(name), numbers | numbers | ANYTHING)


@law_settings(max_examples=500)
@given(st.lists(st.sampled_from(NAMES).flatmap(near), min_size=1, max_size=3).map(dict))
@example({"heartbeat_age_s": 0.1 + 1e-15})
@example({"slow_share": float("nan")})
@example({"camera_equal_frames": 10.0})
def test_no_value_of_a_profile_loosens_a_threshold_beyond_its_bound(values: dict[str, Any]) -> None:
    try:
        built = build(SafetySettings, "profile.yaml safety", values)
    except ConfigError as error:
        assert any(name in str(error) for name in values)
        return
    for name in NAMES:
        value, bounds = getattr(built, name), bounds_of(name)
        assert bounds.holds(value) and not looser(name, value, bounds.loosest)
        assert value == values.get(name, getattr(DEFAULTS, name))
        assert type(value) is int or type(getattr(DEFAULTS, name)) is float


@pytest.mark.parametrize("name", NAMES)
def test_the_bounds_hold_the_default_and_are_themselves_allowed(name: str) -> None:
    bounds, default = bounds_of(name), getattr(DEFAULTS, name)
    assert bounds.holds(default) and bounds.tightest not in (default, bounds.loosest)
    assert not looser(name, bounds.tightest, default) and not looser(name, default, bounds.loosest)
    pair = {"latency_hold_s": {"latency_slow_s": bounds.tightest}, "latency_slow_s": {"latency_hold_s": 0.7}}
    for value in (bounds.tightest, bounds.loosest):
        assert getattr(SafetySettings(**{**pair.get(name, {}), name: value}), name) == value


def test_settings_are_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        DEFAULTS.slow_share = 1.0  # type: ignore[misc]


@pytest.mark.parametrize(
    ("values", "says"),
    [
        (
            {"heartbeat_age_s": 0.3},
            r"heartbeat_age_s \[s\] is 0.3, must be .* at most 0.1: a profile may tighten",
        ),
        ({"slow_share": 0.9}, r"is 0.9, .* a profile may loosen it from 0.3 to 0.5 and no further; write 0.5"),
        ({"camera_black": 200}, r"is 200, .* at most 32: tighter than this the robot would stop for nothing; write 32"),
        ({"late_ticks": 2.5}, r"late_ticks \[ticks\] is 2.5, must be a whole number from 1 to 5"),
        ({"frozen_s": "5e-2"}, r"frozen_s \[s\] is '5e-2', which YAML reads as text: write 0.05"),
        ({"latency_hold_s": 0.2}, r"must be at least latency_slow_s, 0.3: .*write latency_slow_s: 0.2 too"),
        ({"heartbeat_age": 0.1}, r"safety: unknown key heartbeat_age; did you mean heartbeat_age_s\?"),
        ([0.1], r"safety must be a mapping, got list"),
    ],
)
def test_a_wrong_value_is_named_with_its_bound_and_what_to_write(values: Any, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        build(SafetySettings, "profile.yaml safety", values)


def test_every_threshold_is_read_somewhere() -> None:
    """A field that nothing reads would be a promise that nobody keeps."""
    sources = [*ROOT.glob("tendon/**/*.py"), *ROOT.glob("ros2_nodes/*.py")]
    text = "\n".join(file.read_text(encoding="utf-8") for file in sources if file.name != "safety_settings.py")
    assert [name for name in NAMES if f"settings.{name}" not in text and f"safety.{name}" not in text] == []


def test_a_profile_file_tightens_and_an_empty_key_changes_nothing(tmp_path: Path) -> None:
    folder = share_folder() / "robots" / "panda"
    text = (folder / "profile.yaml").read_text(encoding="utf-8")
    for name in ("panda.urdf", "collisions.yaml"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    for added, expected in (("safety:\n", DEFAULTS), ("safety: {late_ticks: 2}\n", SafetySettings(late_ticks=2))):
        (tmp_path / "profile.yaml").write_text(text + added, encoding="utf-8")
        assert load_profile(tmp_path / "profile.yaml").safety == expected
    assert expected.changed == {"late_ticks": 2}

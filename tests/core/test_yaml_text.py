"""YAML is read in one way: what is wrong is one line that says where, and no key may stand twice."""

from __future__ import annotations

import pytest

from tendon.core.errors import ConfigError
from tendon.core.yaml_text import parse_yaml


def test_it_holds_plain_values() -> None:
    text = "base: &base {velocity: 1.5, name: a}\nfast: {<<: *base, velocity: 3.0}\nnames: [a, 'ü']\nnone:\n"
    expected = {
        "base": {"velocity": 1.5, "name": "a"},
        "fast": {"velocity": 3.0, "name": "a"},
        "names": ["a", "ü"],
        "none": None,
    }
    assert parse_yaml(text, "file") == expected
    assert parse_yaml(text.encode(), "file") == expected
    assert parse_yaml(b"", "file") is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("name: panda\n\tlower: 1\n", "found character '\\t' that cannot start any token, line 2, column 1"),
        ("a: b: c\n", "mapping values are not allowed here, line 1, column 5"),
        ("a: [1, 2\nb: 3\n", "expected ',' or ']', but got"),
        ("joint: !!python/object/apply:os.system [ls]\n", "could not determine a constructor"),
        ("a: \x00\n", "special characters are not allowed"),
        ("made: 2026-02-30\n", "day is out of range for month"),
        ("[" * 3000, "it is nested too deeply"),
        ("Türe: 1\n".encode("latin-1"), "byte 1 is no UTF-8"),
        (b"\x89PNG\r\n", "byte 0 is no UTF-8"),
    ],
)
def test_what_is_no_yaml_is_one_line(text: str | bytes, reason: str) -> None:
    with pytest.raises(ConfigError) as refused:
        parse_yaml(text, "arm/profile.yaml")
    said = str(refused.value)
    assert said.startswith("arm/profile.yaml is not YAML: ") and reason in said
    assert "\n" not in said


@pytest.mark.parametrize("text", ["velocity: 0.2\nname: a\nvelocity: 2.0\n", "- {velocity: 1, velocity: 2}\n"])
def test_a_key_that_stands_twice_is_refused(text: str) -> None:
    """PyYAML takes the last: a limit that is set above would not count."""
    with pytest.raises(ConfigError, match=r"file is not YAML: velocity stands twice, line \d, column"):
        parse_yaml(text, "file")

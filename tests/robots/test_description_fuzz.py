"""No damage to a URDF or an SRDF ends in anything but a draft or one clear error."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from tendon.core.errors import TendonError
from tendon.robots.collision.fit import load_meshes
from tendon.robots.drafting.draft import draft_profile
from tendon.robots.drafting.text import profile_text
from tests.robots.small_robots import SMALL, SRDF, write

VALUES = (
    "nan",
    "inf",
    "-1e999",
    "",
    "x",
    "1e400",
    "0",
    "-0",
    "1 2",
    "\x00",
    "é",
    "joint2",
    "base",
    "1e-320",
    "package://a/b",
)
ROUNDS = 40


def damaged(rng: random.Random, text: str) -> str:
    """A file with a value, a character, a line or an element that is wrong, or without its end."""
    lines = text.split("\n")
    match rng.choice(("value", "value", "value", "element", "character", "line", "twice", "end")):
        case "value":
            start, end = rng.choice([found.span(1) for found in re.finditer('"([^"]*)"', text)])
            return text[:start] + rng.choice(VALUES) + text[end:]
        case "element":
            start, end = rng.choice([found.span() for found in re.finditer("<[^<>]*/>", text)])
            return text[:start] + text[end:]
        case "character":
            place = rng.randrange(len(text))
            return text[:place] + rng.choice('<>"/= \x01az09é') + text[place + 1 :]
        case "line":
            del lines[rng.randrange(len(lines))]
        case "twice":
            lines.insert(rng.randrange(len(lines)), rng.choice(lines))
        case "end":
            return text[: rng.randrange(1, len(text))]
    return "\n".join(lines)


@pytest.mark.parametrize("seed", range(10))
def test_a_damaged_file_is_a_draft_or_one_clear_error(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    for _ in range(ROUNDS):
        urdf = write(tmp_path, damaged(rng, SMALL))
        try:
            profile_text(draft_profile("small", urdf, None), "small.urdf", "a test", "schema")
            load_meshes(urdf, None)
        except TendonError as error:
            assert str(urdf) in str(error)
        srdf = write(tmp_path, damaged(rng, SRDF), "small.srdf")
        try:
            draft_profile("small", write(tmp_path, SMALL), srdf)
        except TendonError as error:
            assert str(srdf) in str(error)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            'radius="0.03" length="0.2"',
            'radius="0.03" length="300"',
            "a collision shape of link base is empty or larger",
        ),
        ('<cylinder radius="0.03" length="0.2"/>', '<mesh filename="no.stl"/>', "names no.stl, which does not exist"),
        (
            '<cylinder radius="0.03" length="0.2"/>',
            '<mesh filename="package://no/a.stl"/>',
            "no package no here has that",
        ),
    ],
)
def test_a_shape_that_is_none_is_named(old: str, new: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(TendonError) as raised:
        load_meshes(write(tmp_path, SMALL.replace(old, new)), None)
    assert said in str(raised.value)


@pytest.mark.parametrize("length", ["0", "-0", "1e-320"])
def test_a_flat_shape_is_thickened_where_a_library_would_end_the_process(length: str, tmp_path: Path) -> None:
    meshes = load_meshes(write(tmp_path, SMALL.replace('length="0.2"', f'length="{length}"')), None)
    assert {mesh.link for mesh in meshes} >= {"base", "wrist"}

"""A profile's key is written without touching anything else of a file that a person keeps."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
import yaml

from tendon.core.errors import ConfigError
from tendon.core.paths import share_folder
from tendon.robots.profile import load_profile
from tendon.robots.profile_edit import name_collisions, named_collisions

SHIPPED = sorted((share_folder() / "robots").glob("*/profile.yaml"))


def profile(folder: Path, text: str) -> Path:
    file = folder / "profile.yaml"
    file.write_bytes(text.encode())
    return file


@pytest.mark.parametrize("shipped", SHIPPED, ids=lambda file: file.parent.name)
def test_a_shipped_profile_gets_back_the_very_line_that_was_taken_out(shipped: Path, tmp_path: Path) -> None:
    """Every comment, flow list and column of the other lines is byte for byte as it was."""
    lines = shipped.read_text(encoding="utf-8").splitlines(keepends=True)
    rest = [line for line in lines if not line.startswith("collisions:")]
    assert len(rest) == len(lines) - 1
    file = profile(tmp_path, "".join(rest))
    assert named_collisions(file) is None
    name_collisions(file, "collisions.yaml")
    changed = file.read_text(encoding="utf-8").splitlines(keepends=True)
    added = changed.index("collisions: collisions.yaml\n")
    assert changed[:added] + changed[added + 1 :] == rest
    assert named_collisions(file) == "collisions.yaml"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("urdf: a.urdf\n", "urdf: a.urdf\ncollisions: c.yaml\n"),
        ("urdf: a.urdf", "urdf: a.urdf\ncollisions: c.yaml\n"),
        ("urdf: a.urdf\r\nname: x\r\n", "urdf: a.urdf\r\ncollisions: c.yaml\r\nname: x\r\n"),
        ("urdf: a.urdf  # ours\nname: x\n", "urdf: a.urdf  # ours\ncollisions: c.yaml\nname: x\n"),
        ("collisions: none  # not yet\nurdf: a\n", "collisions: c.yaml  # not yet\nurdf: a\n"),
        ("collisions:\nurdf: a\n", "collisions: c.yaml\nurdf: a\n"),
        ("collisions: null\nurdf: a\n", "collisions: c.yaml\nurdf: a\n"),
        ("collisions: 'old.yaml'\nurdf: a\n", "collisions: c.yaml\nurdf: a\n"),
        ("# über\nurdf: grün.urdf\n", "# über\nurdf: grün.urdf\ncollisions: c.yaml\n"),
    ],
)
def test_what_a_person_may_have_written_is_changed_in_one_place(before: str, after: str, tmp_path: Path) -> None:
    file = profile(tmp_path, before)
    name_collisions(file, "c.yaml")
    assert file.read_bytes().decode() == after


@pytest.mark.parametrize("value", ["my models/c: v2.yaml", "none", "#1.yaml", "ü.yaml", "1.0", "a" * 300 + ".yaml"])
def test_a_name_that_yaml_would_read_as_something_else_is_quoted(value: str, tmp_path: Path) -> None:
    file = profile(tmp_path, "urdf: a.urdf\n")
    name_collisions(file, value)
    assert yaml.safe_load(file.read_text(encoding="utf-8"))["collisions"] == value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{name: x, urdf: a.urdf}\n", "by hand"),
        ("name: x\n", "has no urdf"),
        ("- urdf\n", "must hold a mapping"),
        ("urdf: [a\n", "is not YAML"),
        ("urdf: a\ncollisions: [a, b]\n", "must be the name of a file"),
    ],
)
def test_a_file_that_cannot_be_changed_is_left_as_it_is(text: str, message: str, tmp_path: Path) -> None:
    file = profile(tmp_path, text)
    with pytest.raises(ConfigError, match=message):
        named_collisions(file)
        name_collisions(file, "c.yaml")
    assert file.read_text() == text
    assert [path.name for path in tmp_path.iterdir()] == ["profile.yaml"]


def test_a_block_scalar_is_not_cut_in_two(tmp_path: Path) -> None:
    """Its end is the beginning of the next key's line."""
    file = profile(tmp_path, "urdf: >-\n  a.urdf\nname: x\n")
    name_collisions(file, "c.yaml")
    assert yaml.safe_load(file.read_text()) == {"urdf": "a.urdf", "name": "x", "collisions": "c.yaml"}


def test_link_and_mode_of_the_file_stay(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    kept = profile(tmp_path / "kept", "urdf: a\n")
    kept.chmod(0o640)
    link = tmp_path / "profile.yaml"
    link.symlink_to(kept)
    name_collisions(link, "c.yaml")
    assert link.is_symlink() and "collisions" in kept.read_text()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o640


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written_is_one_clear_error(tmp_path: Path) -> None:
    file = profile(tmp_path, "urdf: a\n")
    tmp_path.chmod(0o500)
    with pytest.raises(ConfigError, match="cannot write"):
        name_collisions(file, "c.yaml")
    tmp_path.chmod(0o700)


def test_a_model_that_is_not_made_yet_keeps_a_profile_from_nothing_but_itself(tmp_path: Path) -> None:
    """Or `tendon robot collisions`, which the error recommends, would end in the same error."""
    panda = share_folder() / "robots" / "panda"
    text = (panda / "profile.yaml").read_text(encoding="utf-8").replace("\nurdf: ", f"\nurdf: {panda}/")
    file = profile(tmp_path, text)
    with pytest.raises(ConfigError, match="does not exist; make it with `tendon robot collisions`"):
        load_profile(file)
    assert load_profile(file, without_collisions=True).collisions is None

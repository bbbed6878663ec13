"""An SO-101 with cameras of a policy's size."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

import yaml

from tendon.core.paths import share_folder

JOINTS = ("shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll", "gripper")


def write_so101(folder: Path, cameras: Iterable[str], width: int, height: int) -> Path:
    """Writes its profile to a folder that is not there yet, and returns the file."""
    shutil.copytree(share_folder() / "robots" / "so101", folder)
    raw = yaml.safe_load((folder / "profile.yaml").read_text())
    camera = raw["cameras"][0] | {"width": width, "height": height}
    raw["cameras"] = [camera | {"name": name} for name in cameras]
    (folder / "profile.yaml").write_text(yaml.safe_dump(raw))
    return folder / "profile.yaml"

"""What the tests of this folder share: a remote policy file for the Panda, to change one thing at a time."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import yaml

ARM = [f"panda_joint{i}" for i in range(1, 8)]
FINGER = "panda_finger_joint1"
ROWS = 10

DROID: dict[str, Any] = {
    "kind": "openpi",
    "policy": {
        "name": "pi05_droid",
        "robot": "panda",
        "cameras": [
            {"camera": "scene", "key": "observation/exterior_image_1_left", "width": 224, "height": 224},
            {"camera": "wrist", "key": "observation/wrist_image_left"},
        ],
        "state": {
            "observation/joint_position": [{"name": "joints", "joints": [{"joint": j, "unit": "rad"} for j in ARM]}],
            "observation/gripper_position": [
                {"name": "joints", "joints": [{"joint": FINGER, "unit": "fraction", "open": 0}]}
            ],
        },
        "answer": {"actions": 8},
        "action": {
            "rows": ROWS,
            "step_s": 0.1,
            "space": "joint_position",
            "relative_to": "nothing",
            "joints": [*({"joint": j, "unit": "rad"} for j in ARM), {"joint": FINGER, "unit": "fraction", "open": 0}],
        },
    },
}

GR00T: dict[str, Any] = {
    "kind": "gr00t",
    "policy": {
        **DROID["policy"],
        "name": "gr00t_panda",
        "cameras": [{"camera": "scene", "key": "front"}, {"camera": "wrist", "key": "wrist"}],
        "state": {
            "arm": DROID["policy"]["state"]["observation/joint_position"],
            "gripper": DROID["policy"]["state"]["observation/gripper_position"],
        },
        "answer": {"arm": 7, "gripper": 1},
        "instruction": "task",
    },
}


def changed(base: dict[str, Any], path: str = "", value: Any = None) -> dict[str, Any]:
    """Returns a copy with the entry at a/b/c set, or taken out when `value` is None."""
    result = copy.deepcopy(base)
    if path:
        *parents, last = path.split("|")
        at: Any = result
        for parent in parents:
            at = at[int(parent) if parent.isdigit() else parent]
        if value is None:
            del at[int(last) if last.isdigit() else last]
        else:
            at[int(last) if last.isdigit() else last] = value
    return result


def write(folder: Path, content: Any) -> Path:
    """Writes the file and returns its path."""
    path = folder / "remote.yaml"
    path.write_text(yaml.safe_dump(content, sort_keys=False))
    return path

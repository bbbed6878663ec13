"""What demonstrations say of themselves in `about.json`: what the state and the actions are, and who sees them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tendon.policies.spec.components import VELOCITY_UNITS
from tendon.policies.spec.manifest import Manifest, manifest_mapping
from tendon.policies.spec.spaces import STATE_ITEMS

ABOUT = ("step_s", "prefix_rows", "cameras", "state", "action")
"""Keys of `about.json` that a run keeps. `state` and `action` are as in `bundle.yaml`, without sizes and statistics."""
MEASURED = ("rows", "step_s", "mean", "std", "components")
AT_REST, IN_MOTION, FINGER = 0.01, 0.08, 0.05
"""Noise of the state in training, in standard deviations of each number: of places, of speeds, of a finger."""


def count_tools(state: Sequence[Mapping[str, Any]]) -> int:
    """Returns how many tools' positions a state begins with."""
    return sum(item["name"] == "tool_position" for item in state)


def state_noise(state: Sequence[Mapping[str, Any]]) -> list[float]:
    """Returns the noise of each number of a state."""
    found: list[float] = []
    for item in state:
        if item["name"] == "joints":
            found += [IN_MOTION if joint["unit"] in VELOCITY_UNITS else AT_REST for joint in item["joints"]]
        else:
            size, _ = STATE_ITEMS[item["name"]]
            found += [{"tool_velocity": IN_MOTION, "finger_position": FINGER}.get(item["name"], AT_REST)] * size
    return found


def about_bundle(manifest: Manifest, cameras: Mapping[str, Any]) -> dict[str, Any]:
    """Returns what the demonstrations of a bundle said, seen by these cameras."""
    plain = manifest_mapping(manifest)
    return {
        "step_s": manifest.action.step_s,
        "prefix_rows": manifest.prefix_rows,
        "cameras": cameras,
        "state": plain["state"],
        "action": {key: value for key, value in plain["action"].items() if key not in MEASURED},
    }

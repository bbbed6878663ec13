"""Records what NVIDIA's GR00T code of one version writes, for `test_link.py`: run it beside that code.

`PYTHONPATH=CHECKOUT python record.py NAME OUT.json` adds the messages under NAME, in base64. What was recorded:
N1.5 at 029b2df (September 2025), N1.6 at 4e62473 (December 2025), N1.7 at 23ace64 (April 2026), and N1.7 as it is since
May 2026. No weights are needed: what a policy says and answers is made up here, and their serializer writes it.
"""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ROWS = 10
ARM, GRIPPER = [0.1 * k for k in range(7)], [0.5]


def recorded_n15() -> dict[str, bytes]:
    """Returns the messages of N1.5."""
    from gr00t.data.dataset import ModalityConfig
    from gr00t.eval.service import MsgSerializer

    config = {
        "video": ModalityConfig(delta_indices=[0], modality_keys=["video.front", "video.wrist"]),
        "state": ModalityConfig(delta_indices=[0], modality_keys=["state.arm", "state.gripper"]),
        "action": ModalityConfig(delta_indices=list(range(ROWS)), modality_keys=["action.arm", "action.gripper"]),
        "language": ModalityConfig(delta_indices=[0], modality_keys=["task"]),
    }
    action = {"action.arm": np.tile(ARM, (ROWS, 1)), "action.gripper": np.tile(GRIPPER, (ROWS, 1))}
    observation = {
        **{f"video.{name}": image[0] for name, image in images().items()},
        "state.arm": np.array([ARM], np.float32),
        "state.gripper": np.array([GRIPPER], np.float32),
        "task": ["put it there"],
    }
    return written(MsgSerializer.to_bytes, config, action, observation)


def recorded_later() -> dict[str, bytes]:
    """Returns the messages of N1.6 or N1.7."""
    from gr00t.data.types import ModalityConfig
    from gr00t.policy.server_client import MsgSerializer

    config = {
        "video": ModalityConfig(delta_indices=[0], modality_keys=["front", "wrist"]),
        "state": ModalityConfig(delta_indices=[0], modality_keys=["arm", "gripper"]),
        "action": ModalityConfig(delta_indices=list(range(ROWS)), modality_keys=["arm", "gripper"]),
        "language": ModalityConfig(delta_indices=[0], modality_keys=["task"]),
    }
    action = {"arm": np.tile(np.float32(ARM), (1, ROWS, 1)), "gripper": np.tile(np.float32(GRIPPER), (1, ROWS, 1))}
    observation = {
        "video": images(),
        "state": {"arm": np.array([[ARM]], np.float32), "gripper": np.array([[GRIPPER]], np.float32)},
        "language": {"task": [["put it there"]]},
    }
    return written(MsgSerializer.to_bytes, config, (action, {}), {"observation": observation, "options": None})


def images() -> dict[str, np.ndarray]:
    """Returns a small image each of a batch of one, one instant."""
    return {name: np.arange(12, dtype=np.uint8).reshape(1, 1, 2, 2, 3) for name in ("front", "wrist")}


def written(write: Callable[[Any], bytes], config: Any, answer: Any, data: Any) -> dict[str, bytes]:
    """Returns the bytes of each message."""
    return {
        "config": write(config),
        "answer": write(answer),
        "error": write({"error": "Unknown endpoint: dance"}),
        "request": write({"endpoint": "get_action", "data": data}),
    }


if __name__ == "__main__":
    name, place = sys.argv[1], Path(sys.argv[2])
    messages = recorded_n15() if name == "N1.5" else recorded_later()
    every = json.loads(place.read_text()) if place.exists() else {}
    every[name] = {what: base64.b64encode(data).decode() for what, data in messages.items()}
    place.write_text(json.dumps(every, indent=1, sort_keys=True) + "\n")

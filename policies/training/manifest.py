"""What a training run answers, in the words of `bundle.yaml`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from tendon.core.config import build
from tendon.policies.spec.manifest import CameraInput, InstructionInput, Manifest
from tendon.policies.spec.spaces import ActionSpace, StateItem
from tendon.robots.profile import RobotProfile

if TYPE_CHECKING:
    from tendon.policies.training.model import Shape


def run_manifest(shape: Shape, record: Mapping[str, Any], profile: RobotProfile, name: str) -> Manifest:
    """Returns the manifest of a run as one graph.

    Args:
        shape: of its network.
        record: what its `run.json` holds; `training.spaces.ABOUT`, `vocabulary` and `statistics` count.
        profile: the robot it is trained on.
        name: of the policy.
    """
    statistics = record["statistics"]
    return Manifest(
        name=name,
        robot=profile.name,
        tool_frame=profile.tool_frame,
        joint_names=profile.joint_names,
        cameras=tuple(CameraInput(name=k, width=w, height=h) for k, (h, w) in shape.cameras.items()),
        state=tuple(build(StateItem, f"state[{i}]", item) for i, item in enumerate(record["state"])),
        state_mean=tuple(statistics["state_mean"]),
        state_std=tuple(statistics["state_std"]),
        action=build(
            ActionSpace,
            "action",
            {
                **record["action"],
                "rows": shape.rows,
                "step_s": record["step_s"],
                "mean": np.mean(statistics["action_mean"], axis=0).tolist(),
                "std": np.mean(statistics["action_std"], axis=0).tolist(),
            },
        ),
        prefix_rows=record["prefix_rows"],
        instruction=InstructionInput(tokens=shape.tokens, vocabulary=tuple(record["vocabulary"])),
        training={key: record[key] for key in ("recipe", "frames", "step") if key in record},
    )

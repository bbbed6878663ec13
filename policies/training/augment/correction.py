"""Corrective noise: the tool a little aside, and the way back to what was done from there.

After SPARTN (Zhou et al. 2023), which renders the hand's camera anew from a learned scene. Here the geometry is known:
the picture of a camera on the tool moves by the homography of the table. Cameras that stand still see the arm where it
was. `tendon data demos` needs none of this: its expert really gets disturbed, and labels what it then sees.
"""

from __future__ import annotations

import torch
from torch import Generator

from tendon.core.errors import ConfigError
from tendon.policies.training.augment.batch import Batch, Rig, uniform
from tendon.policies.training.augment.warp import moved, seen_from
from tendon.policies.training.spaces import count_tools

ASIDE_M = 0.008
"""Most at strength 1, along each axis."""
FREE_M = 0.06
"""Below this the tool is among things, where a place beside the way is no place to be."""


def check_actions(rig: Rig) -> None:
    """Raises ConfigError: actions are none that can be put right for another place of the tool."""
    if rig.about["action"]["space"] != "tool_position" or count_tools(rig.about["state"]) != 1:
        raise ConfigError(
            "--augment noise takes data with one tool and actions that are its positions; these have "
            f"{rig.about['action']['space']} and {count_tools(rig.about['state'])} tools: leave it out"
        )


def noise(batch: Batch, strength: float, rng: Generator, rig: Rig) -> Batch:
    """Returns a batch whose tool is aside where it is free, with actions that lead to the same places as before.

    A frame is left as it is where something is held, or nobody knows whether, and near the table.
    """
    state = batch["state"]
    free = (batch["flags"][..., 0] == 0).all(-1) & (state[:, 2] > FREE_M)
    aside = strength * uniform(rng, (len(state), 3), ASIDE_M).to(state.device) * free[:, None]
    found = {**batch, "exposed": state, "state": state.clone(), "actions": batch["actions"].clone()}
    found["state"][:, :3] += aside
    found["actions"][..., :3] -= aside[:, None, None]
    for name in rig.cameras:
        viewpoint = rig.about["cameras"][name]
        if viewpoint["on_tool"] is not None:
            warp = seen_from(viewpoint, state.cpu(), aside.cpu(), torch.zeros_like(aside.cpu()))
            found = moved(found, name, warp)
    return found

"""Writes what LeRobot's training leaves of an ACT for a robot: its own size, random weights, actions near home.

Examples:
  python benchmarks/networks/random_act.py ur5e pretrained_model
  python benchmarks/networks/random_act.py so101 pretrained_model --unit deg
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch

from tendon.policies.export.lerobot.packages import lerobot_module
from tendon.robots.profile import load_profile

SPAN_RAD = 0.2
GRIPPER_PERCENT = (50.0, 20.0)
"""Middle and span of a gripper in percent, as LeRobot's robots in degrees have it."""
PIXELS = {"min": 0.0, "max": 1.0, "mean": 0.5, "std": 0.25}


def write_act(robot: str, folder: Path, unit: str) -> None:
    """Writes the policy with LeRobot's `save_pretrained`, for the joints and cameras of a profile."""
    profile = load_profile(robot)
    middle, span = np.array(profile.vector("home")), np.full(len(profile.joint_names), SPAN_RAD)
    if unit == "deg":
        middle, span = np.degrees(middle), np.degrees(span)
        middle[-1], span[-1] = GRIPPER_PERCENT
    types = lerobot_module("configs.types")
    feature, kind = types.PolicyFeature, types.FeatureType
    views = {f"observation.images.{c.name}": feature(kind.VISUAL, (3, c.height, c.width)) for c in profile.cameras}
    config = lerobot_module("policies.act.configuration_act").ACTConfig(
        input_features={**views, "observation.state": feature(kind.STATE, middle.shape)},
        output_features={"action": feature(kind.ACTION, middle.shape)},
        device="cpu",
        pretrained_backbone_weights=None,
    )
    lerobot_module("policies.act.modeling_act").ACTPolicy(config).save_pretrained(folder)
    numbers = {"min": middle - span, "max": middle + span, "mean": middle, "std": span / 2.0}
    joints = {name: torch.tensor(value, dtype=torch.float32) for name, value in numbers.items()}
    pixels = {name: torch.full((3, 1, 1), value) for name, value in PIXELS.items()}
    statistics = {"observation.state": joints, "action": joints, **dict.fromkeys(views, pixels)}
    for steps in lerobot_module("policies.act.processor_act").make_act_pre_post_processors(config, statistics):
        steps.save_pretrained(folder)


def main() -> None:
    """Writes it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("robot", help="name of a profile")
    parser.add_argument("folder", type=Path, help="that does not exist yet")
    parser.add_argument("--unit", default="rad", choices=("rad", "deg"), help="of its joints (%(default)s)")
    args = parser.parse_args()
    write_act(args.robot, args.folder, args.unit)


if __name__ == "__main__":
    main()

"""What a LeRobot, of whichever version this Python has, makes of a dataset: reads it all, and trains one step of ACT.

It runs in an environment without Tendon. Where Tendon is, LeRobot stands beside a torch that its torchvision was not
built for, and is imported as Tendon does. It prints lines of JSON.
"""

from __future__ import annotations

import argparse
import contextlib
import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np


def read(root: Path) -> tuple[Any, dict[str, Any]]:
    """Returns a LeRobotDataset, and its numbers and pictures as arrays of all frames."""
    from lerobot.datasets.lerobot_dataset import LeRobotDataset

    dataset = LeRobotDataset("local/set", root=root, video_backend="pyav")
    rows = [dataset[k] for k in range(len(dataset))]
    found = {key: np.array([row[key].numpy() for row in rows]) for key in rows[0] if key != "task"}
    return dataset, found | {"task": np.array([row["task"] for row in rows])}


def train(dataset: Any) -> float:
    """Returns the loss of one step of a small ACT."""
    import torch
    from lerobot.configs.types import FeatureType, PolicyFeature
    from lerobot.policies.act.configuration_act import ACTConfig
    from lerobot.policies.act.modeling_act import ACTPolicy

    seen = {name: each["shape"] for name, each in dataset.features.items() if name.startswith("observation.images")}
    size = dataset.features["action"]["shape"][0]
    config = ACTConfig(
        input_features={"observation.state": PolicyFeature(type=FeatureType.STATE, shape=(size,))}
        | {name: PolicyFeature(type=FeatureType.VISUAL, shape=(3, *shape[:2])) for name, shape in seen.items()},
        output_features={"action": PolicyFeature(type=FeatureType.ACTION, shape=(size,))},
        chunk_size=4,
        n_action_steps=4,
        dim_model=64,
        pretrained_backbone_weights=None,
        device="cpu",
        push_to_hub=False,
    )
    policy = ACTPolicy(config)
    batch = {name: dataset[0][name][None] for name in ("observation.state", *seen)}
    batch["action"] = torch.stack([dataset[k]["action"] for k in range(4)])[None]
    batch["action_is_pad"] = torch.zeros(1, 4, dtype=torch.bool)
    loss, _ = policy.forward(batch)
    loss.backward()
    torch.optim.AdamW(policy.parameters(), lr=1e-4).step()
    return float(loss)


def main() -> None:
    """Prints what came of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset", type=Path, help="its folder")
    parser.add_argument("answer", type=Path, help="file for what was read")
    args = parser.parse_args()
    print(json.dumps({"version": version("lerobot")}), flush=True)
    with contextlib.suppress(ImportError):
        from tendon.policies.export.lerobot.packages import lerobot_module

        lerobot_module("datasets.lerobot_dataset")
    dataset, found = read(args.dataset)
    np.savez(args.answer, **found)
    print(json.dumps({"episodes": dataset.meta.total_episodes, "loss": train(dataset)}))


if __name__ == "__main__":
    main()

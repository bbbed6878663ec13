"""Policies of LeRobot at their default size with random weights, as bundles: what other benchmarks run.

ACT has 51.6 M parameters and answers 100 rows at once. Diffusion Policy has 278 M, sees two observations, and answers
16 rows in 10 steps of DDIM. Both see two cameras of 224 px and move the Panda's joints; their actions are scaled to
stay within a hundredth of a radian of home, so that a robot may obey them. Needs LeRobot (`make setup-lerobot`).

Examples:
  python benchmarks/networks/random_policies.py
  python benchmarks/networks/random_policies.py --policy act --folder /tmp/policies
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

from tendon.robots.profile import load_profile

FOLDER = Path(__file__).resolve().parents[2] / "outputs" / "random_policies"
POLICIES = {"act": "ACT", "diffusion": "Diffusion"}
SETTINGS: dict[str, dict[str, Any]] = {
    "act": {},
    "diffusion": {"noise_scheduler_type": "DDIM", "num_inference_steps": 10},
}
CAMERAS = {"front": "scene", "wrist": "wrist"}
"""LeRobot's names to the robot's."""
SIZE, RATE_HZ = 224, 20.0
SPREAD_RAD, STATE_SPREAD_RAD = 1e-3, 2e-3


def profile_file(folder: Path) -> Path:
    """Writes the profile of a Panda with two cameras of 224 px, and returns its path."""
    panda = load_profile("panda").urdf.parent
    raw = yaml.safe_load((panda / "profile.yaml").read_text(encoding="utf-8"))
    raw |= {key: str(panda / raw[key]) for key in ("urdf", "collisions")}
    raw["cameras"] = [{**camera, "width": SIZE, "height": SIZE} for camera in raw["cameras"]]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "profile.yaml").write_text(yaml.safe_dump(raw, sort_keys=False), encoding="utf-8")
    return folder / "profile.yaml"


def save_policy(kind: str, folder: Path) -> int:
    """Saves a policy and its processors as LeRobot does, and returns how many parameters it has."""
    import torch

    from tendon.policies.export.lerobot.packages import lerobot_module

    torch.manual_seed(0)
    types: Any = lerobot_module("configs.types")
    feature, kinds = types.PolicyFeature, types.FeatureType
    home = torch.tensor(load_profile("panda").vector("home"), dtype=torch.float32)
    images = {f"observation.images.{name}": feature(kinds.VISUAL, (3, SIZE, SIZE)) for name in CAMERAS}
    configuration: Any = lerobot_module(f"policies.{kind}.configuration_{kind}")
    config = getattr(configuration, f"{POLICIES[kind]}Config")(
        input_features={**images, "observation.state": feature(kinds.STATE, tuple(home.shape))},
        output_features={"action": feature(kinds.ACTION, tuple(home.shape))},
        device="cpu",
        pretrained_backbone_weights=None,
        **SETTINGS[kind],
    )
    modeling: Any = lerobot_module(f"policies.{kind}.modeling_{kind}")
    policy = getattr(modeling, f"{POLICIES[kind]}Policy")(config)
    policy.save_pretrained(folder)
    statistics = {
        "observation.state": _statistics(home, STATE_SPREAD_RAD),
        "action": _statistics(home, SPREAD_RAD),
        **dict.fromkeys(images, _statistics(torch.full((3, 1, 1), 0.5), 0.25)),
    }
    processor: Any = lerobot_module(f"policies.{kind}.processor_{kind}")
    for each in getattr(processor, f"make_{kind}_pre_post_processors")(config, statistics):
        each.save_pretrained(folder)
    return sum(weight.numel() for weight in policy.parameters())


def _statistics(mean: Any, spread: float) -> dict[str, Any]:
    return {"mean": mean, "std": spread + 0.0 * mean, "min": mean - spread, "max": mean + spread}


def bundle_of(kind: str, folder: Path = FOLDER) -> tuple[Path, Path, Path]:
    """Returns LeRobot's directory of a policy, its bundle and the robot's profile; makes what is not there yet."""
    source, bundle, profile = folder / kind / "pretrained_model", folder / kind / "bundle", folder / "profile.yaml"
    if not profile.is_file():
        profile_file(folder)
    if not (source / "model.safetensors").is_file():
        print(f"{kind}: {save_policy(kind, source) / 1e6:.1f} M parameters at {source}", flush=True)
    if not (bundle / "bundle.yaml").is_file():
        cameras = [text for name, camera in CAMERAS.items() for text in ("--camera", f"{name}={camera}")]
        command = [
            sys.executable,
            "-m",
            "tendon.cli",
            "policy",
            "import",
            str(source),
            str(bundle),
            "--robot",
            str(profile),
        ]
        subprocess.run([*command, "--rate", f"{RATE_HZ:g}", *cameras, "--name", kind], check=True)
    return source, bundle, profile


def main() -> None:
    """Makes the bundles."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--policy", action="append", choices=tuple(POLICIES), help="(all of them)")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="(%(default)s)")
    args = parser.parse_args()
    for kind in args.policy or POLICIES:
        print(f"{kind}: {bundle_of(kind, args.folder)[1]}")


if __name__ == "__main__":
    main()

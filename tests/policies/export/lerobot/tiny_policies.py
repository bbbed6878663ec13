"""Tiny policies of LeRobot with random weights and statistics, saved by LeRobot itself, and what LeRobot answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch

from tendon.policies.export.lerobot.packages import lerobot_module
from tendon.policies.export.lerobot.source import LeRobotSource

HEIGHT, WIDTH, STATE, ACTION = 48, 64, 6, 7
CAMERAS = {"top": "scene", "wrist": "wrist"}
"""LeRobot's names to the robot's."""

torch.set_num_threads(2)


Statistics = dict[str, dict[str, torch.Tensor]]


def normalised(source: LeRobotSource, state: np.ndarray) -> np.ndarray:
    """Returns states (..., S) as a bundle's graphs take them."""
    affine = source.normalisation("observation.state")
    return ((state - np.array(affine.mean)) / np.array(affine.std)).astype(np.float32)


def denormalised(source: LeRobotSource, actions: np.ndarray) -> np.ndarray:
    """Returns what graphs answer (..., C) in LeRobot's numbers."""
    affine = source.action_normalisation()
    return actions * np.array(affine.std) + np.array(affine.mean)


def save_act(folder: Path, numbers: Statistics | None = None, **changes: Any) -> Path:
    """Saves an ACT policy; `changes` are of its configuration."""
    small = {"dim_model": 32, "dim_feedforward": 64, "n_heads": 4, "n_encoder_layers": 2, "n_vae_encoder_layers": 1}
    settings = {**small, "chunk_size": 10, "n_action_steps": 8, **changes}
    return save("act", "ACT", folder, settings, numbers)


def save_diffusion(folder: Path, **changes: Any) -> Path:
    """Saves a Diffusion Policy that resizes and crops; `changes` are of its configuration."""
    small = {"down_dims": (16, 32), "n_groups": 4, "spatial_softmax_num_keypoints": 6, "diffusion_step_embed_dim": 16}
    view = {"resize_shape": (40, 56), "crop_ratio": 0.8, "use_separate_rgb_encoder_per_camera": True}
    steps = {"horizon": 16, "n_action_steps": 8, "num_train_timesteps": 20, "num_inference_steps": 10}
    return save("diffusion", "Diffusion", folder, {**small, **view, **steps, **changes})


def save(kind: str, prefix: str, folder: Path, settings: dict[str, Any], numbers: Statistics | None = None) -> Path:
    """Saves a policy and its processors with LeRobot's `save_pretrained`."""
    torch.manual_seed(7)
    types = lerobot_module("configs.types")
    visual = types.PolicyFeature(types.FeatureType.VISUAL, (3, HEIGHT, WIDTH))
    config = getattr(lerobot_module(f"policies.{kind}.configuration_{kind}"), f"{prefix}Config")(
        input_features={
            **{f"observation.images.{name}": visual for name in CAMERAS},
            "observation.state": types.PolicyFeature(types.FeatureType.STATE, (STATE,)),
        },
        output_features={"action": types.PolicyFeature(types.FeatureType.ACTION, (ACTION,))},
        device="cpu",
        pretrained_backbone_weights=None,
        **settings,
    )
    policy = getattr(lerobot_module(f"policies.{kind}.modeling_{kind}"), f"{prefix}Policy")(config)
    policy.save_pretrained(folder)
    make = getattr(lerobot_module(f"policies.{kind}.processor_{kind}"), f"make_{kind}_pre_post_processors")
    for processor in make(config, numbers or statistics()):
        processor.save_pretrained(folder)
    return folder


def statistics() -> Statistics:
    """Returns statistics as LeRobot's datasets have them; one state never varied."""
    generator = np.random.default_rng(5)
    found: Statistics = {}
    shapes = {"observation.state": (STATE,), "action": (ACTION,)}
    for key, shape in {**shapes, **{f"observation.images.{name}": (3, 1, 1) for name in CAMERAS}}.items():
        low, span = generator.uniform(-2, 1, shape), generator.uniform(0.5, 2, shape)
        if key == "observation.state":
            span[2] = 0.0
        numbers = {"min": low, "max": low + span, "mean": low + span / 2.1, "std": span / 3.0}
        numbers |= {"q01": low + span / 50, "q99": low + span * 0.98}
        found[key] = {name: torch.tensor(value, dtype=torch.float32) for name, value in numbers.items()}
    return found


def loaded(kind: str, prefix: str, folder: Path) -> tuple[Any, Any, Any]:
    """Returns policy, preprocessor and postprocessor as LeRobot loads them."""
    policy = getattr(lerobot_module(f"policies.{kind}.modeling_{kind}"), f"{prefix}Policy").from_pretrained(folder)
    pipeline = lerobot_module("processor").PolicyProcessorPipeline
    converters = lerobot_module("processor.converters")
    before = pipeline.from_pretrained(folder, config_filename="policy_preprocessor.json")
    after = pipeline.from_pretrained(
        folder,
        config_filename="policy_postprocessor.json",
        to_transition=converters.policy_action_to_transition,
        to_output=converters.transition_to_policy_action,
    )
    return policy, before, after


def observation(seed: int) -> dict[str, np.ndarray]:
    """Returns what a robot measures: uint8 images by LeRobot's short name, and the state in its own units."""
    generator = np.random.default_rng(seed)
    images = {name: generator.integers(0, 256, (HEIGHT, WIDTH, 3), dtype=np.uint8) for name in CAMERAS}
    state = generator.uniform(-2, 2, STATE)
    state[2] = statistics()["observation.state"]["min"][2]
    return {**images, "state": state.astype(np.float32)}


def as_lerobot(measured: dict[str, np.ndarray]) -> dict[str, torch.Tensor]:
    """Returns an observation as LeRobot's `prepare_observation_for_inference` hands it to the preprocessor."""
    images = {name: torch.from_numpy(measured[name]).permute(2, 0, 1).float() / 255 for name in CAMERAS}
    keyed = {f"observation.images.{name}": image for name, image in images.items()}
    return {**keyed, "observation.state": torch.from_numpy(measured["state"])}

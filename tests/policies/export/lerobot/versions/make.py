"""Remakes the folders beside this file: tiny policies as one version of LeRobot saves them, and what it answers.

Each is saved by that LeRobot itself (`save_pretrained`), and loaded by it again (`from_pretrained`) before it answers,
so that names, configurations, processors and conventions are its own. Nothing of Tendon is imported here.

    make.py FOLDER [KIND ...]       in an environment that has the version: Python 3.12 for 0.5 and 0.6

README.md beside this file says how such an environment is made.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

os.environ |= {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}

import numpy as np
import torch
from safetensors import safe_open
from safetensors.numpy import save_file

sys.path.insert(0, str(Path(__file__).parent))
from weights import NAMES_FILE, WEIGHTS_FILE, write_weights

HEIGHT, WIDTH, STATE, ACTION, ROWS = 36, 48, 6, 6, 6
VOCABULARY = 320
CAMERAS = ("top", "wrist")
JOINTS = ("shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll", "gripper")
INSTRUCTIONS = ("pick the cube", "fold the towel\n", "open the drawer, then put the screwdriver inside")
TOKENIZERS = Path(__file__).parent / "tokenizers"
CLASSES = {"act": "ACT", "diffusion": "Diffusion", "smolvla": "SmolVLA", "pi0": "PI0", "pi05": "PI05"}

ACT = {"dim_model": 32, "dim_feedforward": 64, "n_heads": 4, "n_encoder_layers": 2, "n_vae_encoder_layers": 1}
DIFFUSION = {"down_dims": (16, 32), "n_groups": 4, "spatial_softmax_num_keypoints": 6, "diffusion_step_embed_dim": 16}
DIFFUSION |= {"horizon": 8, "num_train_timesteps": 20, "num_inference_steps": 5, "noise_scheduler_type": "DDIM"}
DIFFUSION |= {"use_group_norm": True, "use_separate_rgb_encoder_per_camera": False}
VLA = {"chunk_size": ROWS, "n_action_steps": ROWS, "empty_cameras": 1}
PI = {**VLA, "image_resolution": (28, 28)}
RELATIVE = {"use_relative_actions": True, "action_feature_names": [f"{joint}.pos" for joint in JOINTS]}
SETTINGS: dict[str, dict[str, Any]] = {
    "act": {**ACT, "chunk_size": ROWS, "n_action_steps": ROWS},
    "diffusion": {**DIFFUSION, "n_action_steps": ROWS},
    "smolvla": {**VLA, "resize_imgs_with_padding": (32, 32), "num_vlm_layers": 2, "tokenizer_max_length": 24},
    "pi0": {**PI, "tokenizer_max_length": 24},
    "pi0_relative": {**PI, "tokenizer_max_length": 24, **RELATIVE},
    "pi05": {**PI, "tokenizer_max_length": 190},
}


def main() -> None:
    """Makes what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("kinds", nargs="*", default=list(SETTINGS))
    args = parser.parse_args()
    for kind in args.kinds:
        make(kind, args.folder / kind)
        size = sum(path.stat().st_size for path in (args.folder / kind).iterdir())
        print(f"{args.folder / kind}: {size / 1000:.0f} kB")


def make(kind: str, folder: Path) -> None:
    """Saves one policy and its answers; the weights are left as a list of names."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    name = kind.partition("_")[0]
    with tempfile.TemporaryDirectory() as scratch, built_tiny(name):
        saved = Path(scratch)
        save(name, SETTINGS[kind], saved)
        with safe_open(saved / WEIGHTS_FILE, framework="np") as file:
            parts = {key: file.get_slice(key) for key in sorted(file.keys())}
            names = {key: [part.get_dtype(), part.get_shape()] for key, part in parts.items()}
        rows = ",\n".join(f"{json.dumps(key)}: {json.dumps(names[key])}" for key in names)
        (saved / NAMES_FILE).write_text(f"{{\n{rows}\n}}\n")
        write_weights(saved)
        save_file(answers(name, saved), saved / "answers.safetensors")
        for path in saved.iterdir():
            if path.name != WEIGHTS_FILE:
                shutil.copy(path, folder / path.name)


def save(name: str, settings: dict[str, Any], folder: Path) -> None:
    """Saves a policy and its processors with LeRobot's `save_pretrained`."""
    types = importlib.import_module("lerobot.configs.types")
    visual = types.PolicyFeature(types.FeatureType.VISUAL, (3, HEIGHT, WIDTH))
    config = getattr(module(name, "configuration"), f"{CLASSES[name]}Config")(
        input_features={
            **{f"observation.images.{camera}": visual for camera in CAMERAS},
            "observation.state": types.PolicyFeature(types.FeatureType.STATE, (STATE,)),
        },
        output_features={"action": types.PolicyFeature(types.FeatureType.ACTION, (ACTION,))},
        device="cpu",
        push_to_hub=False,
        **({"pretrained_backbone_weights": None} if name in ("act", "diffusion") else {}),
        **settings,
    )
    getattr(module(name, "modeling"), f"{CLASSES[name]}Policy")(config).save_pretrained(folder)
    train, default = (importlib.import_module(f"lerobot.configs.{part}") for part in ("train", "default"))
    train.TrainPipelineConfig(dataset=default.DatasetConfig(repo_id="tiny"), policy=config).save_pretrained(folder)
    for processor in getattr(module(name, "processor"), f"make_{name}_pre_post_processors")(config, statistics()):
        processor.save_pretrained(folder)


def answers(name: str, folder: Path) -> dict[str, np.ndarray]:
    """Returns what is seen, the noise, and the chunk in the robot's units that LeRobot answers, by case."""
    pipeline = importlib.import_module("lerobot.processor").PolicyProcessorPipeline
    converters = importlib.import_module("lerobot.processor.converters")
    policy = getattr(module(name, "modeling"), f"{CLASSES[name]}Policy").from_pretrained(folder).eval()
    before = pipeline.from_pretrained(folder, config_filename="policy_preprocessor.json")
    after = pipeline.from_pretrained(
        folder,
        config_filename="policy_postprocessor.json",
        to_transition=converters.policy_action_to_transition,
        to_output=converters.transition_to_policy_action,
    )
    for step in after.steps:
        if hasattr(step, "relative_step"):
            step.relative_step = next(each for each in before.steps if hasattr(each, "_last_state"))
    found = {}
    for case, instruction in enumerate(INSTRUCTIONS):
        generator = np.random.default_rng(case)
        steps = policy.config.n_obs_steps
        images = generator.integers(0, 256, (len(CAMERAS), steps, HEIGHT, WIDTH, 3), dtype=np.uint8)
        states = generator.uniform(-1.0, 1.5, (steps, STATE)).astype(np.float32)
        width = ACTION if name in ("act", "diffusion") else policy.config.max_action_dim
        rows = policy.config.horizon if name == "diffusion" else ROWS
        noise = generator.standard_normal((1, rows, width)).astype(np.float32)
        seen = [
            before(
                {
                    **{
                        f"observation.images.{camera}": torch.from_numpy(images[k, step]).permute(2, 0, 1).float() / 255
                        for k, camera in enumerate(CAMERAS)
                    },
                    "observation.state": torch.from_numpy(states[step]),
                    "task": instruction,
                }
            )
            for step in range(steps)
        ]
        with torch.no_grad():
            answer = after(chunk(name, policy, seen, torch.from_numpy(noise)))
        known = {"images": images, "state": states, "noise": noise, "chunk": answer.numpy()}
        if "observation.language.tokens" in seen[-1]:
            known["tokens"] = seen[-1]["observation.language.tokens"].numpy()
        found |= {f"{case}.{key}": np.ascontiguousarray(value) for key, value in known.items()}
    return found


def chunk(name: str, policy: Any, seen: list[dict[str, Any]], noise: torch.Tensor) -> torch.Tensor:
    """Returns the normalised chunk, of Diffusion from the row of the newest observation on."""
    if name == "act":
        return policy.predict_action_chunk(seen[-1])
    if name != "diffusion":
        return policy.predict_action_chunk(seen[-1], noise=noise)
    keys = [key for key in seen[-1] if key.startswith("observation.") and key.count(".") <= 2]
    batch = {key: torch.stack([each[key] for each in seen], dim=1) for key in keys}
    batch["observation.images"] = torch.stack([batch[key] for key in policy.config.image_features], dim=-4)
    return policy.diffusion.generate_actions(batch, noise=noise)


def statistics() -> dict[str, dict[str, torch.Tensor]]:
    """Returns statistics as LeRobot's data sets have them."""
    generator = np.random.default_rng(5)
    found = {}
    shapes = {"observation.state": (STATE,), "action": (ACTION,)}
    for key, shape in {**shapes, **{f"observation.images.{camera}": (3, 1, 1) for camera in CAMERAS}}.items():
        low, span = generator.uniform(-0.6, -0.2, shape), generator.uniform(0.5, 1.0, shape)
        numbers = {"min": low, "max": low + span, "mean": low + span / 2.1, "std": span / 3.0}
        numbers |= {"q01": low + span / 50, "q99": low + span * 0.98}
        found[key] = {name: torch.tensor(value, dtype=torch.float32) for name, value in numbers.items()}
    return found


def module(name: str, part: str) -> Any:
    """Returns a module of LeRobot's policy `name`."""
    return importlib.import_module(f"lerobot.policies.{name}.{part}_{name}")


@contextmanager
def built_tiny(name: str) -> Iterator[None]:
    """Inside, LeRobot builds its language models tiny and reads the tokenizers beside this file."""
    if name in ("act", "diffusion"):
        yield
        return
    transformers = importlib.import_module("transformers")
    file = str(TOKENIZERS / ("smolvla" if name == "smolvla" else "pi") / "tokenizer.json")
    special = {"fake_image_token": "<fake_token_around_image>", "global_image_token": "<global-img>"}
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_file=file, pad_token="<pad>", eos_token="<eos>")
    for key, token in special.items():
        setattr(type(tokenizer), f"{key}_id", tokenizer.convert_tokens_to_ids(token))
    processing = importlib.import_module("lerobot.processor.tokenizer_processor")
    tokenizers = mock.patch.object(
        processing, "AutoTokenizer", SimpleNamespace(from_pretrained=lambda *_, **__: tokenizer)
    )
    with tokenizers, tiny_smolvlm(transformers, tokenizer) if name == "smolvla" else tiny_gemma(name, transformers):
        yield


@contextmanager
def tiny_smolvlm(transformers: Any, tokenizer: Any) -> Iterator[None]:
    """SmolVLM2 with two layers, from the configuration beside this file."""
    expert = importlib.import_module("lerobot.policies.smolvla.smolvlm_with_expert")
    config = transformers.AutoConfig.from_pretrained(TOKENIZERS / "smolvla")
    built = SimpleNamespace(from_pretrained=lambda *_, **__: config)
    processor = SimpleNamespace(from_pretrained=lambda *_, **__: SimpleNamespace(tokenizer=tokenizer))
    with mock.patch.multiple(expert, AutoConfig=built, AutoProcessor=processor):
        yield


@contextmanager
def tiny_gemma(name: str, transformers: Any) -> Iterator[None]:
    """PaliGemma and the action expert with two layers; eight query heads share one key head."""
    modeling = module(name, "modeling")
    widths = {"gemma_2b": 32, "gemma_300m": 24}
    paligemma, causal = "PaliGemmaForConditionalGenerationWithPiGemma", "PiGemmaForCausalLM"
    whole, expert = getattr(modeling, paligemma), getattr(modeling, causal)

    def gemma_config(variant: str) -> Any:
        return modeling.GemmaConfig(width=widths[variant], depth=2, mlp_dim=48, num_heads=8, num_kv_heads=1, head_dim=8)

    def build_whole(config: Any) -> Any:
        config.text_config.vocab_size = VOCABULARY
        vision = config.vision_config
        vision.hidden_size, vision.intermediate_size, vision.projection_dim = 16, 20, widths["gemma_2b"]
        vision.num_attention_heads, vision.num_hidden_layers = 2, 1
        return whole(config)

    def build_expert(config: Any) -> Any:
        config.vocab_size = VOCABULARY
        return expert(config)

    tiny = {"get_gemma_config": gemma_config, paligemma: build_whole, causal: build_expert}
    with mock.patch.multiple(modeling, **tiny):
        yield


if __name__ == "__main__":
    main()

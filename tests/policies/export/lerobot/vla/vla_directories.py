"""Pretrained directories of tiny VLAs with random weights, saved by LeRobot itself, beside tiny tokenizers.

All that the architectures have is there: layers of self- and cross-attention, query heads that share keys, adaptive
norms, images of another shape than the network's, a camera that is missing, padding at the end of the prefix.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

from tendon.policies.export.lerobot.packages import lerobot_module
from tendon.policies.export.networks.openpi_gemma import accepted_release, become_openpi, has_fork
from tendon.policies.export.networks.smolvla import local_files

HEIGHT, WIDTH = 24, 32
STATE, ACTION, ROWS, TOKENS = 6, 5, 4, 24
VOCABULARY = 320
SENTENCES = (
    "pick up the red cube and place it in the bin",
    "Task: fold the towel, State: 12 255 128 0 -1 64 33;\nAction: ",
    "open the drawer, then put the screwdriver inside",
)
_SMOLVLA_SPECIAL = {"fake_image_token": "<fake_token_around_image>", "global_image_token": "<global-img>"}


def save_tokenizer(folder: Path, kind: str) -> Any:
    """Saves a tokenizer of the policy's style: byte pairs of bytes for SmolVLA, of characters after <bos> for pi."""
    transformers = importlib.import_module("transformers")
    special = ["<pad>", "<eos>", "<bos>", "<unk>", *_SMOLVLA_SPECIAL.values()]
    if kind == "smolvla":
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        alphabet = pre_tokenizers.ByteLevel.alphabet()
    else:
        tokenizer = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True))
        alphabet = list("0123456789\n ;:,-")
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=[AddedToken(name, special=True) for name in special],
        initial_alphabet=alphabet,
    )
    tokenizer.train_from_iterator(SENTENCES, trainer)
    if kind == "smolvla":
        fast = transformers.PreTrainedTokenizerFast(
            tokenizer_object=tokenizer, pad_token="<pad>", eos_token="<eos>", extra_special_tokens=_SMOLVLA_SPECIAL
        )
    else:
        fast = transformers.GemmaTokenizerFast(tokenizer_object=tokenizer)
    fast.save_pretrained(folder)
    return fast


def save_smolvla(folder: Path, **changes: Any) -> Any:
    """Saves a SmolVLA whose third camera is missing; returns LeRobot's policy."""
    smolvlm = importlib.import_module("transformers.models.smolvlm.configuration_smolvlm")
    configuration: Any = lerobot_module("policies.smolvla.configuration_smolvla")
    modeling: Any = lerobot_module("policies.smolvla.modeling_smolvla")
    processors: Any = lerobot_module("policies.smolvla.processor_smolvla")
    tokenizer = save_tokenizer(folder / "vlm", "smolvla")
    text = {"hidden_size": 48, "intermediate_size": 40, "num_attention_heads": 4, "num_key_value_heads": 2}
    text |= {"model_type": "llama", "head_dim": 12, "num_hidden_layers": 3, "vocab_size": VOCABULARY}
    vision = {"hidden_size": 16, "intermediate_size": 20, "num_attention_heads": 2, "num_hidden_layers": 1}
    vision |= {"image_size": 32, "patch_size": 8}
    vlm_config = smolvlm.SmolVLMConfig(text_config=text, vision_config=vision, scale_factor=2)
    vlm_config.save_pretrained(folder / "vlm")
    settings = {
        "resize_imgs_with_padding": (32, 32),
        "num_vlm_layers": 2,
        "prefix_length": 40,
        "empty_cameras": 1,
        "vlm_model_name": str(folder / "vlm"),
        **_common("top", "wrist"),
        **changes,
    }
    config = configuration.SmolVLAConfig(**settings)
    with local_files(vlm_config, tokenizer):
        policy = modeling.SmolVLAPolicy(config)
    fill(policy)
    policy.save_pretrained(folder)
    save_processors(folder, processors.make_smolvla_pre_post_processors, config, tokenizer)
    return policy.eval()


def save_pi(folder: Path, kind: str, **changes: Any) -> Any:
    """Saves a pi0 or pi0.5 whose third camera is missing; returns LeRobot's policy."""
    processors: Any = lerobot_module(f"policies.{kind}.processor_{kind}")
    tokenizer = save_tokenizer(folder / "vlm", kind)
    policy = tiny_pi(kind, **changes)
    policy.save_pretrained(folder)
    make = getattr(processors, f"make_{kind}_pre_post_processors")
    save_processors(folder, make, policy.config, tokenizer)
    return policy


def tiny_pi(kind: str, **changes: Any) -> Any:
    """Returns LeRobot's pi0 or pi0.5, as `fill` fills it, on transformers as released or on openpi's fork."""
    configuration: Any = lerobot_module(f"policies.{kind}.configuration_{kind}")
    modeling: Any = lerobot_module(f"policies.{kind}.modeling_{kind}")
    settings = {"image_resolution": (28, 28), "empty_cameras": 1, **_common("top", "wrist")}
    if kind == "pi05":
        settings["tokenizer_max_length"] = 190  # the state takes most of it
    config = getattr(configuration, f"{kind.upper()}Config")(**{**settings, **changes})
    with tiny_gemma(kind), nullcontext() if has_fork() else accepted_release():
        policy = getattr(modeling, f"{kind.upper()}Policy")(config)
    if not has_fork():
        both = policy.model.paligemma_with_expert
        become_openpi(both.paligemma, both.gemma_expert)
    fill(policy)
    return policy.eval()


@contextmanager
def tiny_gemma(kind: str) -> Iterator[None]:
    """Inside, LeRobot builds `pi0` or `pi05` tiny: two layers, eight query heads that share one key head."""
    module: Any = lerobot_module(f"policies.{kind}.modeling_{kind}")
    transformers = importlib.import_module("transformers")
    widths = {"gemma_2b": 32, "gemma_300m": 24}

    def gemma_config(variant: str) -> Any:
        return module.GemmaConfig(width=widths[variant], depth=2, mlp_dim=48, num_heads=8, num_kv_heads=1, head_dim=8)

    def paligemma(config: Any) -> Any:
        config.text_config.vocab_size = VOCABULARY
        vision = config.vision_config
        vision.hidden_size, vision.intermediate_size, vision.projection_dim = 16, 20, widths["gemma_2b"]
        vision.num_attention_heads, vision.num_hidden_layers = 2, 1
        return transformers.PaliGemmaForConditionalGeneration(config)

    def expert(config: Any) -> Any:
        config.vocab_size = VOCABULARY
        return transformers.GemmaForCausalLM(config)

    with mock.patch.multiple(
        module, get_gemma_config=gemma_config, PaliGemmaForConditionalGeneration=paligemma, GemmaForCausalLM=expert
    ):
        yield


def observation(seed: int) -> dict[str, Any]:
    """Returns images (H, W, 3) uint8 by camera and a state (S,), of any robot."""
    generator = np.random.default_rng(seed)
    images = {name: generator.integers(0, 256, (HEIGHT, WIDTH, 3), dtype=np.uint8) for name in ("top", "wrist")}
    return {**images, "state": generator.uniform(-2.0, 3.0, STATE).astype(np.float32)}


def fill(module: torch.nn.Module, seed: int = 0) -> None:
    """Gives every weight numbers that depend on the order of names alone, so that two builds are equal."""
    generator = np.random.default_rng(seed)
    for _, weight in sorted(module.named_parameters()):
        scale = 0.2 if weight.ndim == 1 else 1.0 / np.sqrt(weight.shape[-1])
        weight.data = torch.from_numpy(generator.standard_normal(tuple(weight.shape)) * scale).to(torch.float32)


def statistics() -> dict[str, dict[str, torch.Tensor]]:
    """Returns what LeRobot normalises state and action with, in each mode."""
    found = {}
    for key, size in (("observation.state", STATE), ("action", ACTION)):
        ramp = torch.arange(size, dtype=torch.float32)
        found[key] = {"mean": 0.1 * ramp, "std": 1.0 + 0.2 * ramp, "q01": -1.0 - 0.1 * ramp, "q99": 2.0 + 0.1 * ramp}
    return found


def _common(*cameras: str) -> dict[str, Any]:
    types: Any = lerobot_module("configs.types")
    feature, kinds = types.PolicyFeature, types.FeatureType
    images = {f"observation.images.{name}": feature(kinds.VISUAL, (3, HEIGHT, WIDTH)) for name in cameras}
    return {
        "device": "cpu",
        "chunk_size": ROWS,
        "n_action_steps": ROWS,
        "tokenizer_max_length": TOKENS,
        "input_features": {**images, "observation.state": feature(kinds.STATE, (STATE,))},
        "output_features": {"action": feature(kinds.ACTION, (ACTION,))},
    }


def save_processors(folder: Path, make: Any, config: Any, tokenizer: Any, numbers: Any = None) -> None:
    """Saves what LeRobot makes around a policy, its statistics among it."""
    module: Any = lerobot_module("processor.tokenizer_processor")
    with mock.patch.object(module, "AutoTokenizer") as auto:
        auto.from_pretrained.return_value = tokenizer
        for processor in make(config, numbers or statistics()):
            processor.save_pretrained(folder)

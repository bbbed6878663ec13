"""What pi0 and pi0.5 answer on openpi's fork of transformers. Run as a script with the fork, it writes the file.

The fork is transformers 4.53.2 with the files of openpi's `src/openpi/models_pytorch/transformers_replace` over it.
With both and LeRobot 0.4.4 importable: `PYTHONPATH=.:FORK python tests/policies/export/lerobot/vla/openpi_golden.py`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.numpy import save_file

from tendon.policies.export.networks.openpi_gemma import has_fork
from tests.policies.export.lerobot.vla.vla_directories import ROWS, VOCABULARY, observation, tiny_pi

TOKENS = 12
FILE = Path(__file__).with_name("openpi_golden.safetensors")


def answer(kind: str) -> np.ndarray:
    """Returns the (1, T, 32) chunk of one observation under fixed words and noise."""
    policy: Any = tiny_pi(kind, tokenizer_max_length=TOKENS)
    generator = np.random.default_rng(1)
    seen = observation(0)
    batch = {
        f"observation.images.{k}": torch.from_numpy(seen[k]).permute(2, 0, 1)[None] / 255 for k in ("top", "wrist")
    }
    images, present = policy._preprocess_images(batch)
    tokens = torch.from_numpy(generator.integers(0, VOCABULARY, (1, TOKENS)))
    noise = torch.from_numpy(generator.standard_normal((1, ROWS, 32), dtype=np.float32))
    state = (
        [policy.prepare_state({"observation.state": torch.from_numpy(seen["state"])[None]})] if kind == "pi0" else []
    )
    mask = torch.arange(TOKENS)[None] < 7
    return np.asarray(policy.model.sample_actions(images, present, tokens, mask, *state, noise=noise))


if __name__ == "__main__":
    if not has_fork():
        raise SystemExit(f"this is not openpi's fork of transformers: {__doc__}")
    save_file({kind: answer(kind) for kind in ("pi0", "pi05")}, FILE)

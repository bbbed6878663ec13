"""PaliGemma and Gemma as openpi trained pi0 with them, on transformers as released.

LeRobot's pi0 and pi0.5 want a fork of transformers (openpi's `transformers_replace`). It differs in what follows, and
here a model built on the release is changed to compute the same:

1. the embeddings that enter Gemma are not scaled by the root of its width,
2. nor are image features divided by it,
3. a norm can be adaptive: `norm(x) (1 + scale) + shift`, and the residual behind it is gated, all three linear in a
   condition (adaRMS, as in DiT of Peebles and Xie 2023),
4. keys and values of the prefix are read without being added to.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from types import ModuleType, SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn

_CHECK = "transformers.models.siglip.check"


def has_fork() -> bool:
    """Whether the fork that LeRobot asks for is installed: then nothing is to be changed."""
    try:
        importlib.import_module(_CHECK)
    except ImportError:
        return False
    return True


@contextmanager
def accepted_release() -> Iterator[None]:
    """Lets LeRobot build pi0 on the release: inside, its question for the fork is answered with yes."""
    siglip: Any = importlib.import_module("transformers.models.siglip")
    answer: Any = ModuleType(_CHECK)
    answer.check_whether_transformers_replace_is_installed_correctly = lambda: True
    sys.modules[_CHECK] = siglip.check = answer
    try:
        yield
    finally:
        del sys.modules[_CHECK], siglip.check


def become_openpi(paligemma: Any, expert: Any) -> None:
    """Changes LeRobot's `PaliGemmaForConditionalGeneration` and `GemmaForCausalLM`, built on the release, in place.

    An expert with `use_adarms` gets adaptive norms; their weights are to be loaded.
    """
    paligemma.model.get_image_features = partial(_image_features, paligemma.model)
    for gemma in (paligemma.model.language_model, expert.model):
        if getattr(gemma.config, "use_adarms", False):
            _make_adaptive(gemma)
        gemma.forward = partial(_run_gemma, gemma)


class AdaptiveNorm(nn.Module):
    """Root-mean-square norm whose scale, shift and gate depend on a condition."""

    def __init__(self, width: int, condition_width: int, eps: float) -> None:
        super().__init__()
        self.dense = nn.Linear(condition_width, 3 * width)
        self.eps = eps

    def forward(self, x: Tensor, condition: Tensor) -> tuple[Tensor, Tensor]:
        """Returns the normed (n, L, width) and the gate (n, 1, width)."""
        scale, shift, gate = self.dense(condition)[:, None].chunk(3, dim=-1)
        normed = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.eps)
        return normed * (1.0 + scale) + shift, gate


def _make_adaptive(gemma: Any) -> None:
    config = gemma.config

    def norm() -> AdaptiveNorm:
        return AdaptiveNorm(config.hidden_size, config.adarms_cond_dim, config.rms_norm_eps)

    for layer in gemma.layers:
        layer.input_layernorm, layer.post_attention_layernorm = norm(), norm()
    gemma.norm = norm()


def _image_features(model: Any, pixels: Tensor) -> Tensor:
    features: Tensor = model.multi_modal_projector(model.vision_tower(pixels).last_hidden_state)
    return features


def _run_gemma(
    gemma: Any,
    *,
    inputs_embeds: Tensor,
    attention_mask: Tensor,
    position_ids: Tensor,
    past_key_values: Sequence[tuple[Tensor, Tensor]] | None = None,
    use_cache: bool | None = None,
    adarms_cond: Tensor | None = None,
) -> SimpleNamespace:
    """Stands in for `GemmaModel.forward` as LeRobot calls it; a cache is a sequence of (keys, values), one a layer."""
    module = sys.modules[type(gemma).__module__]
    cos, sin = gemma.rotary_emb(inputs_embeds, position_ids)
    hidden, cache = inputs_embeds, []
    for index, layer in enumerate(gemma.layers):
        attention = layer.self_attn
        normed, gate = _norm(layer.input_layernorm, hidden, adarms_cond)
        heads = (*normed.shape[:-1], -1, attention.head_dim)
        query, key, value = (
            project(normed).view(heads).transpose(1, 2)
            for project in (attention.q_proj, attention.k_proj, attention.v_proj)
        )
        query, key = module.apply_rotary_pos_emb(query, key, cos, sin)
        if past_key_values is not None:
            key = torch.cat([past_key_values[index][0], key], dim=2)
            value = torch.cat([past_key_values[index][1], value], dim=2)
        cache.append((key, value))
        mixed = _attend(attention, query, key, value, attention_mask)
        hidden = _add(hidden, attention.o_proj(mixed), gate)
        normed, gate = _norm(layer.post_attention_layernorm, hidden, adarms_cond)
        hidden = _add(hidden, layer.mlp(normed), gate)
    hidden, _ = _norm(gemma.norm, hidden, adarms_cond)
    return SimpleNamespace(last_hidden_state=hidden, past_key_values=cache if use_cache else None)


def _attend(attention: Any, query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    """Returns (n, rows, heads * size). Query heads that share a key head go through one product: no key is copied."""
    n, heads, rows, size = query.shape
    shared = heads // attention.num_key_value_groups
    scores = query.reshape(n, shared, -1, size) @ key.transpose(2, 3) * attention.scaling
    weights = torch.softmax(scores.reshape(n, heads, rows, -1) + mask, dim=-1)
    mixed = weights.reshape(n, shared, -1, weights.shape[-1]) @ value
    return mixed.reshape(n, heads, rows, size).transpose(1, 2).reshape(n, rows, -1)


def _norm(norm: nn.Module, x: Tensor, condition: Tensor | None) -> tuple[Tensor, Tensor | None]:
    if isinstance(norm, AdaptiveNorm):
        normed, gate = norm(x, condition)
        return normed, gate
    return norm(x), None


def _add(x: Tensor, change: Tensor, gate: Tensor | None) -> Tensor:
    return x + change if gate is None else x + change * gate

"""SmolVLA (Shukor et al. 2025) of LeRobot as two graphs: images, words and state to a cache, and one denoising step.

The action expert's cross-attention layers see the prefix only, so that their keys and values are projected once, in
`context.onnx`. LeRobot projects them again at every step.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn

from tendon.core.errors import ConfigError
from tendon.policies.export.exported import Report
from tendon.policies.export.lerobot.exported_policy import ExportedPolicy
from tendon.policies.export.lerobot.packages import lerobot_module
from tendon.policies.export.lerobot.pixels import Pixels
from tendon.policies.export.lerobot.policy import REFUSALS, lerobot_config
from tendon.policies.export.lerobot.source import STATE, LeRobotSource
from tendon.policies.export.lerobot.versions import is_from_0_3, is_from_0_5
from tendon.policies.export.networks.vla import TOKENIZER_STEP, VlaContext, export_vla, shared_copy, vla_views
from tendon.policies.export.networks.vlm_files import read_tokenizer, read_vlm_config
from tendon.policies.export.weights import build_with_weights
from tendon.policies.parity.graph import Case
from tendon.policies.spec.manifest import CameraInput

_RESIZE = "resize_imgs_with_padding"
_STEPS = ("smolvla_new_line_processor", TOKENIZER_STEP)


def export_smolvla(
    source: LeRobotSource,
    cameras: Mapping[str, str],
    recorded: tuple[Case, ...] = (),
    report: Report = lambda _: None,
) -> ExportedPolicy:
    """Returns the graphs `context.onnx` and `denoise.onnx` of a SmolVLA.

    Args:
        source: from `read_source`; its folder `vlm` holds what `vlm_files` reads.
        cameras: see `vla_views`.
        recorded: inputs to measure parity over, beside random ones.
        report: told of each step.

    Raises:
        TendonError: see `smolvla_policy`, `vla_views` and `export_graph`.
    """
    source.check_steps(_STEPS)
    views = vla_views(source, cameras)
    policy, tokenizer = smolvla_policy(source)
    check_sizes(source, policy, views)
    context = ContextGraph(policy, views, [Pixels(source.normalisation(key)) for key in views]).eval()
    denoise = DenoiseGraph(policy).eval()
    return export_vla(source, views, recorded, context, denoise, tokenizer, report, concatenated_rope)


class ContextGraph(VlaContext):
    """LeRobot's prefix: what the expert reads of images, instruction and state, one pair of tensors a layer."""

    def __init__(self, policy: Any, views: Mapping[str, CameraInput], pixels: Sequence[Pixels]) -> None:
        super().__init__(policy, views, pixels, policy.config.type)
        pairs = [f"{part}_{index:02}" for index in expert_layers(policy) for part in ("key", "value")]
        self.outputs = ("prefix_mask", *pairs)
        self.steps = policy.config.num_steps
        self.vocabulary = policy.model.vlm_with_expert.config.text_config.vocab_size

    def forward(self, *observed: Tensor) -> tuple[Tensor, ...]:
        """Returns the mask (1, P) of the prefix, then keys and values (1, P, heads, size) of each expert layer."""
        mask, cache = self.prefix(*observed)
        found = [mask]
        for index, layer in expert_layers(self.policy).items():
            key, value = cache[index]["key_states"], cache[index]["value_states"]
            if is_cross(self.policy, index):
                key = layer.self_attn.k_proj(key.flatten(2)).view(key.shape)
                value = layer.self_attn.v_proj(value.flatten(2)).view(value.shape)
            found += [key, value]
        return tuple(found)

    def prefix(self, *observed: Tensor) -> tuple[Tensor, Any]:
        """Returns LeRobot's own padding mask and cache, as `VLAFlowMatching.sample_actions` makes them."""
        *images, state, tokens, token_mask = observed
        model: Any = self.policy.model
        modeling: Any = lerobot_module("policies.smolvla.modeling_smolvla")
        batch = {**self.batch(images), STATE: state}
        seen, present = self.policy.prepare_images(batch)
        if not model.add_image_special_tokens:  # which stand for missing cameras too, and are attended to
            seen, present = seen[: len(images)], present[: len(images)]
        embedded, padding, attending = model.embed_prefix(
            seen, present, tokens, token_mask, state=self.policy.prepare_state(batch)
        )
        _, cache = model.vlm_with_expert.forward(
            attention_mask=modeling.make_att_2d_masks(padding, attending),
            position_ids=torch.cumsum(padding, dim=1) - 1,
            past_key_values=None,
            inputs_embeds=[embedded, None],
            use_cache=True,
            fill_kv_cache=True,
        )
        return padding, cache

    def velocity(self, observed: Sequence[Tensor], x: Tensor, time: Tensor) -> Tensor:
        """See `VlaContext`."""
        velocity: Tensor = self.policy.model.denoise_step(*self.prefix(*observed), x, time)
        return velocity

    def chunk(self, observed: Sequence[Tensor], noise: Tensor) -> Tensor:
        """See `VlaContext`."""
        *images, state, tokens, token_mask = observed
        batch = {**self.batch(images), STATE: state}
        known = (*self.policy.prepare_images(batch), tokens, token_mask, self.policy.prepare_state(batch))
        chunk: Tensor = self.policy.model.sample_actions(*known, noise=noise)
        return chunk


class DenoiseGraph(nn.Module):
    """LeRobot's denoising step on keys and values that are projected already."""

    def __init__(self, policy: Any) -> None:
        super().__init__()
        self.policy = shared_copy(policy)
        for index, layer in expert_layers(self.policy).items():
            if is_cross(self.policy, index):
                attention = layer.self_attn
                attention.k_proj, attention.v_proj = _Projected(attention.k_proj), _Projected(attention.v_proj)

    def forward(self, x: Tensor, time: Tensor, prefix_mask: Tensor, *cache: Tensor) -> Tensor:
        """Returns the velocity (1, T, M) of noisy actions x, under what `ContextGraph` answers."""
        pairs = zip(expert_layers(self.policy), cache[::2], cache[1::2], strict=True)
        past = {index: {"key_states": key, "value_states": value} for index, key, value in pairs}
        velocity: Tensor = self.policy.model.denoise_step(prefix_mask, past, x, time)
        return velocity


class _Projected(nn.Module):
    """In the place of a projection whose answer is what it is called with."""

    def __init__(self, projection: nn.Linear) -> None:
        super().__init__()
        self.register_buffer("weight", projection.weight[:0].detach())  # LeRobot asks for its type

    def forward(self, projected: Tensor) -> Tensor:
        return projected


def expert_layers(policy: Any) -> dict[int, Any]:
    """Returns the action expert's layers by the index of the language model's layer that each reads."""
    model = policy.model.vlm_with_expert
    _, layers = model.get_model_layers([model.get_vlm_model().text_model, model.lm_expert])
    return {index: layer for index, layer in enumerate(layers) if layer is not None}


def is_cross(policy: Any, index: int) -> bool:
    """Whether the expert's layer attends to the prefix alone, through projections of its own."""
    model = policy.model.vlm_with_expert
    every = model.self_attn_every_n_layers
    return "cross" in model.attention_mode and not (every > 0 and index % every == 0)


def smolvla_policy(source: LeRobotSource) -> tuple[Any, Any]:
    """Returns LeRobot's policy in evaluation mode, in float32 on the CPU, and its tokenizer.

    Raises:
        ConfigError: a file is missing, LeRobot does not accept the configuration, the weights are not those of such a
            policy, or the configuration asks for what no graph does.
        IntegrityError: the weights are truncated, altered or not finite.
        MissingDependencyError: see `lerobot_module`.
    """
    unresized = _RESIZE in source.config and source.config[_RESIZE] is None
    overrides = {_RESIZE: [1, 1]} if unresized else {}  # which LeRobot runs without, and does not read null for
    config = lerobot_config(source, {"load_vlm_weights": False, "rtc_config": None, **overrides})
    for name, needed in (("adapt_to_pi_aloha", False), ("use_cache", True), ("n_obs_steps", 1)):
        if (found := getattr(config, name)) != needed:
            raise ConfigError(f"{source.folder}: {name} is {found}, only {needed} can be exported")
    vlm_config = read_vlm_config(source, config.vlm_model_name)
    if unresized:
        config.resize_imgs_with_padding = None
    tokenizer = read_tokenizer(source, config.vlm_model_name)
    modeling: Any = lerobot_module("policies.smolvla.modeling_smolvla")

    def build() -> Any:
        try:
            with local_files(vlm_config, tokenizer):
                return modeling.SmolVLAPolicy(config).float()
        except REFUSALS as error:
            raise ConfigError(f"LeRobot refuses {source.folder}: {error}") from error

    policy = build_with_weights(build, source.weights, lambda name: name.replace("._orig_mod", ""))
    if is_from_0_3(source) or is_from_0_5(source):
        place_patches(policy)
    return policy, tokenizer


def check_sizes(source: LeRobotSource, policy: Any, views: Mapping[str, CameraInput]) -> None:
    """Checks that images that are not resized have a size that the language model takes.

    Raises:
        ConfigError: one is not square, or its side does not hold a whole number of the model's tokens.
    """
    if policy.config.resize_imgs_with_padding is not None:
        return
    vlm = policy.model.vlm_with_expert.config
    unit = vlm.vision_config.patch_size * vlm.scale_factor
    for key, view in views.items():
        if view.height != view.width or view.height % unit:
            raise ConfigError(
                f"{source.folder}: {_RESIZE} is null, but image {key} is {view.width}x{view.height}: without resizing "
                f"it must be square, of a multiple of {unit} px; set {_RESIZE} to the size that it was trained at"
            )


def place_patches(policy: Any) -> None:
    """Changes a policy in place: each patch of an image gets the position embedding of its own row and column.

    transformers 4.55 to 4.57, which LeRobot 0.4 runs on, gives it that of the row above and the column to the left:
    they scale its place by 1 - 1e-6 before they round it down. Those before and after do not.
    """
    embeddings = policy.model.vlm_with_expert.get_vlm_model().vision_model.embeddings
    embeddings.forward = partial(_embed_patches, embeddings)


def _embed_patches(embeddings: Any, pixel_values: Tensor, patch_attention_mask: Tensor) -> Tensor:
    """Stands in for transformers' `SmolVLMVisionEmbeddings.forward` for images without padding."""
    patches: Tensor = embeddings.patch_embedding(pixel_values)
    side = embeddings.num_patches_per_side
    borders = torch.arange(1 / side, 1.0, 1 / side)
    row, column = (
        torch.bucketize((torch.arange(count) * (1.0 / count)).clamp(max=1.0 - 1e-6), borders, right=True)
        for count in patches.shape[2:]
    )
    places = embeddings.position_embedding((row[:, None] * side + column).flatten())
    return patches.flatten(2).transpose(1, 2) + places


@contextmanager
def concatenated_rope() -> Iterator[None]:
    """Inside, LeRobot's rotary embedding joins its halves; it writes them in place, which ONNX can only scatter."""
    module: Any = lerobot_module("policies.smolvla.smolvlm_with_expert")

    def apply(x: Tensor, positions: Tensor, max_wavelength: int = 10_000) -> Tensor:
        half = x.shape[-1] // 2
        exponents = (2.0 / x.shape[-1]) * torch.arange(half, dtype=torch.float32)
        angles = (positions[..., None].to(torch.float32) / max_wavelength**exponents)[..., None, :]
        first, second = x.split(half, dim=-1)
        sin, cos = torch.sin(angles), torch.cos(angles)
        return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)

    original, module.apply_rope = module.apply_rope, apply
    try:
        yield
    finally:
        module.apply_rope = original


@contextmanager
def local_files(vlm_config: Any, tokenizer: Any) -> Iterator[None]:
    """Inside, LeRobot gets these where it would ask a hub."""
    module: Any = lerobot_module("policies.smolvla.smolvlm_with_expert")
    processor = SimpleNamespace(tokenizer=tokenizer)
    original = module.AutoConfig, module.AutoProcessor
    module.AutoConfig = SimpleNamespace(from_pretrained=lambda _: vlm_config)
    module.AutoProcessor = SimpleNamespace(from_pretrained=lambda _: processor)
    try:
        yield
    finally:
        module.AutoConfig, module.AutoProcessor = original

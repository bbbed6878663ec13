"""pi0 (Black et al. 2024) and pi0.5 (2025) of LeRobot as two graphs: images and words to a cache, one denoising step.

pi0 reads the state at every denoising step, so that its context hands it on. pi0.5 reads it in its prompt alone: its
context has the input, as in any bundle, and does not use it.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor, nn

from tendon.core.errors import ConfigError
from tendon.policies.export.exported import Report
from tendon.policies.export.lerobot.exported_policy import ExportedPolicy
from tendon.policies.export.lerobot.packages import lerobot_module
from tendon.policies.export.lerobot.pixels import Letterbox, Pixels
from tendon.policies.export.lerobot.policy import CLASSES, REFUSALS, lerobot_config
from tendon.policies.export.lerobot.source import STATE, LeRobotSource
from tendon.policies.export.lerobot.versions import is_from_0_5
from tendon.policies.export.networks.openpi_gemma import accepted_release, become_openpi, has_fork
from tendon.policies.export.networks.vla import TOKENIZER_STEP, VlaContext, export_vla, vla_views
from tendon.policies.export.networks.vlm_files import PALIGEMMA, read_tokenizer
from tendon.policies.export.weights import build_with_weights
from tendon.policies.inference.prompt import STATE_NUMBERS
from tendon.policies.parity.graph import Case
from tendon.policies.spec.manifest import CameraInput

_STEPS = {
    "pi0": ("pi0_new_line_processor", TOKENIZER_STEP),
    "pi05": ("pi05_prepare_state_tokenizer_processor_step", TOKENIZER_STEP),
}
_RENAMED = {
    "pi0": (re.compile(r"^model\.time_mlp_"), "model.action_time_mlp_"),
    "pi05": (re.compile(r"^model\.action_time_mlp_"), "model.time_mlp_"),
}
"""Names that openpi's files have where LeRobot's modules have others."""


def export_pi(
    source: LeRobotSource,
    cameras: Mapping[str, str],
    recorded: tuple[Case, ...] = (),
    report: Report = lambda _: None,
) -> ExportedPolicy:
    """Returns the graphs `context.onnx` and `denoise.onnx` of a pi0 or pi0.5.

    Args:
        source: from `read_source`; its folder `vlm` holds PaliGemma's tokenizer.
        cameras: see `vla_views`.
        recorded: inputs to measure parity over, beside random ones.
        report: told of each step.

    Raises:
        TendonError: see `pi_policy`, `vla_views` and `export_graph`.
    """
    source.check_steps(_STEPS[source.type])
    views = vla_views(source, cameras)
    tokenizer = read_tokenizer(source, PALIGEMMA)
    policy = pi_policy(source)
    context = ContextGraph(policy, views, pi_pixels(source, policy.config, views), pi_prompt(source)).eval()
    return export_vla(source, views, recorded, context, DenoiseGraph(policy).eval(), tokenizer, report)


def pi_pixels(source: LeRobotSource, config: Any, views: Mapping[str, CameraInput]) -> list[nn.Module]:
    """Returns from each camera's pixels to what LeRobot's policy is handed, resized where its padding has changed."""
    found: list[nn.Module] = [Pixels(source.normalisation(key)) for key in views]
    if not is_from_0_5(source):
        return found
    return [nn.Sequential(pixels, Letterbox(*config.image_resolution)) for pixels in found]


def pi_prompt(source: LeRobotSource) -> str:
    """Returns which of `tendon.policies.inference.prompt` its instructions are read in."""
    return "pi05_unpadded" if source.type == "pi05" and is_from_0_5(source) else source.type


class ContextGraph(VlaContext):
    """LeRobot's prefix: keys and values of images and instruction, one pair of tensors a layer."""

    def __init__(self, policy: Any, views: Mapping[str, CameraInput], pixels: Sequence[nn.Module], prompt: str) -> None:
        super().__init__(policy, views, pixels, prompt)
        language = policy.model.paligemma_with_expert.paligemma.config.text_config
        pairs = [f"{part}_{index:02}" for index in range(language.num_hidden_layers) for part in ("key", "value")]
        self._feels = policy.config.type == "pi0"
        self.outputs = ("prefix_mask", *(("padded_state",) if self._feels else ()), *pairs)
        self.steps = policy.config.num_inference_steps
        self.vocabulary = language.vocab_size

    def forward(self, *observed: Tensor) -> tuple[Tensor, ...]:
        """Returns the mask (1, P) of the prefix, for pi0 the padded state, and (1, heads, P, size) keys and values."""
        mask, state, cache = self.prefix(*observed)
        pairs = [cache[index] for index in range(len(cache))]
        return (mask, *state, *(tensor for pair in pairs for tensor in pair))

    def prefix(self, *observed: Tensor) -> tuple[Tensor, list[Tensor], Any]:
        """Returns LeRobot's own padding mask, state and cache, as `sample_actions` makes them."""
        *seen, state, tokens, token_mask = observed
        modeling: Any = lerobot_module(f"policies.{self.policy.config.type}.modeling_{self.policy.config.type}")
        model: Any = self.policy.model
        images, present = self.policy._preprocess_images(self.batch(seen))
        count = len(seen)  # after them come images for missing cameras: nothing attends to those
        embedded, padding, attending = model.embed_prefix(images[:count], present[:count], tokens, token_mask)
        attention = modeling.make_att_2d_masks(padding, attending)
        _, cache = model.paligemma_with_expert.forward(
            attention_mask=model._prepare_attention_masks_4d(attention),
            position_ids=torch.cumsum(padding, dim=1) - 1,
            past_key_values=None,
            inputs_embeds=[embedded, None],
            use_cache=True,
        )
        return padding, [self.policy.prepare_state({STATE: state})] if self._feels else [], cache

    def velocity(self, observed: Sequence[Tensor], x: Tensor, time: Tensor) -> Tensor:
        """See `VlaContext`."""
        mask, state, cache = self.prefix(*observed)
        velocity: Tensor = self.policy.model.denoise_step(*state, mask, cache, x, time)
        return velocity

    def chunk(self, observed: Sequence[Tensor], noise: Tensor) -> Tensor:
        """See `VlaContext`."""
        *seen, state, tokens, token_mask = observed
        states = [self.policy.prepare_state({STATE: state})] if self._feels else []
        images = self.policy._preprocess_images(self.batch(seen))
        chunk: Tensor = self.policy.model.sample_actions(*images, tokens, token_mask, *states, noise=noise)
        return chunk


class DenoiseGraph(nn.Module):
    """LeRobot's denoising step."""

    def __init__(self, policy: Any) -> None:
        super().__init__()
        self.policy = policy
        self._states = 1 if policy.config.type == "pi0" else 0

    def forward(self, x: Tensor, time: Tensor, prefix_mask: Tensor, *context: Tensor) -> Tensor:
        """Returns the velocity (1, T, M) of noisy actions x, under what `ContextGraph` answers."""
        state, cache = context[: self._states], context[self._states :]
        pairs: Any = list(zip(cache[::2], cache[1::2], strict=True))
        if has_fork():
            pairs = importlib.import_module("transformers").DynamicCache.from_legacy_cache(pairs)
        velocity: Tensor = self.policy.model.denoise_step(*state, prefix_mask, pairs, x, time)
        return velocity


def pi_policy(source: LeRobotSource) -> Any:
    """Returns LeRobot's policy in evaluation mode, in float32 on the CPU.

    Raises:
        ConfigError: LeRobot does not accept the configuration, the weights are not those of such a policy, or the
            configuration asks for what no graph does.
        IntegrityError: the weights are truncated, altered or not finite.
        MissingDependencyError: see `lerobot_module`.
    """
    config = lerobot_config(source, {"dtype": "float32", "rtc_config": None, "gradient_checkpointing": False})
    newer = is_from_0_5(source)
    if config.max_state_dim != STATE_NUMBERS and source.type == "pi05" and not newer:
        raise ConfigError(f"{source.folder}: max_state_dim is {config.max_state_dim}, a prompt has {STATE_NUMBERS}")
    if config.n_obs_steps != 1:
        raise ConfigError(f"{source.folder}: n_obs_steps is {config.n_obs_steps}, only 1 can be exported")

    def build() -> Any:
        try:
            return build_pi(config)
        except REFUSALS as error:
            raise ConfigError(f"LeRobot refuses {source.folder}: {error}") from error

    def to_name(name: str) -> str | None:
        return None if newer and name.endswith("paligemma.lm_head.weight") else _name(source.type, name)

    return build_with_weights(build, source.weights, to_name)


def build_pi(config: Any) -> Any:
    """Returns LeRobot's policy; its weights are to be set, for to draw 3 billion numbers first would take minutes."""
    modeling: Any = lerobot_module(f"policies.{config.type}.modeling_{config.type}")
    without_weights = importlib.import_module("transformers.modeling_utils").no_init_weights
    config.device = str(torch.get_default_device())
    with nullcontext() if has_fork() else accepted_release(), without_weights():
        policy = getattr(modeling, f"{CLASSES[config.type]}Policy")(config)
    both = policy.model.paligemma_with_expert
    both.paligemma.tie_weights()
    both.gemma_expert.lm_head = nn.Identity()  # no token is ever predicted
    if not has_fork():
        become_openpi(both.paligemma, both.gemma_expert)
    for part in (both.paligemma.model.language_model, both.gemma_expert.model):
        part.config._attn_implementation = "eager"  # as LeRobot sets it before it samples
    return policy


def _name(kind: str, name: str) -> str | None:
    """Returns the module's name of a weight; `None` for one that is not needed."""
    name = name.replace("._orig_mod", "")
    name = name if name.startswith("model.") else f"model.{name}"
    if ".gemma_expert.lm_head." in name or (kind == "pi05" and name.startswith("model.state_proj.")):
        return None
    return _RENAMED[kind][0].sub(_RENAMED[kind][1], name)

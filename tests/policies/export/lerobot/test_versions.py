"""Folders that LeRobot 0.5 and 0.6 saved are imported, and answer what those versions themselves answered.

`versions/make.py` made them, each with the version it is named after. Weights are made from their names when a test
needs them.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file

from tendon.core.errors import ConfigError
from tendon.policies.export.lerobot.pixels import Pixels
from tendon.policies.export.lerobot.policy import left_out, lerobot_policy
from tendon.policies.export.lerobot.relative import relative_mask
from tendon.policies.export.lerobot.source import STATE, LeRobotSource, read_source
from tendon.policies.export.networks.act import ActGraph
from tendon.policies.export.networks.diffusion import ContextGraph as DiffusionContext
from tendon.policies.export.networks.diffusion import diffusion_schedule
from tendon.policies.export.networks.pi import ContextGraph as PiContext
from tendon.policies.export.networks.pi import pi_pixels, pi_policy, pi_prompt
from tendon.policies.export.networks.smolvla import ContextGraph as SmolVlaContext
from tendon.policies.export.networks.smolvla import check_sizes, smolvla_policy
from tendon.policies.export.networks.vla import VlaContext, vla_views
from tendon.policies.export.networks.vlm_files import bundle_tokenizer, read_tokenizer
from tendon.policies.inference.prompt import Prompt
from tests.policies.export.lerobot.versions.weights import number_of, write_weights
from tests.policies.export.lerobot.vla.vla_directories import tiny_gemma

FOLDERS = Path(__file__).parent / "versions"
CAMERAS = {"top": "scene", "wrist": "hand"}
CASES = range(3)
BOUND = 1e-5
SAVED = sorted(str(path.parent.relative_to(FOLDERS)) for path in FOLDERS.glob("[0-9]*/*/config.json"))
INSTRUCTIONS = ("pick the cube", "fold the towel\n", "open the drawer, then put the screwdriver inside")


def restored(saved: str, folder: Path) -> Path:
    """Writes a whole pretrained folder from what is kept of it, its language model's files too."""
    shutil.copytree(FOLDERS / saved, folder)
    write_weights(folder)
    kind = saved.partition("/")[2]
    if kind.startswith(("smolvla", "pi")):
        shutil.copytree(FOLDERS / "tokenizers" / ("smolvla" if kind == "smolvla" else "pi"), folder / "vlm")
    return folder


def answered(saved: str, case: int) -> dict[str, np.ndarray]:
    """Returns what LeRobot saw and answered."""
    stored = load_file(FOLDERS / saved / "answers.safetensors")
    return {name.partition(".")[2]: value for name, value in stored.items() if name.startswith(f"{case}.")}


def denormalised(source: LeRobotSource, chunk: np.ndarray, state: np.ndarray) -> np.ndarray:
    """Returns a chunk in the data set's units, with the state added where rows are relative."""
    action = source.action_normalisation()
    rows = chunk * np.array(action.std) + np.array(action.mean)
    return rows + state * np.array(relative_mask(source) or np.zeros(len(state)))


def normalised_state(source: LeRobotSource, state: np.ndarray) -> np.ndarray:
    known = source.normalisation(STATE)
    return ((state - np.array(known.mean)) / np.array(known.std)).astype(np.float32)


@pytest.mark.parametrize("saved", [name for name in SAVED if name.endswith("/act")])
def test_act_answers_what_that_version_answered(saved: str, tmp_path: Path) -> None:
    source = read_source(restored(saved, tmp_path / "policy"))
    pixels = [Pixels(source.normalisation(key)) for key in source.images]
    module = ActGraph(lerobot_policy(source).model, pixels).eval()
    for case in CASES:
        seen = answered(saved, case)
        with torch.no_grad():
            answer, _ = module(*tensors(*seen["images"], normalised_state(source, seen["state"])))
        assert_close(denormalised(source, answer.numpy(), seen["state"][-1]), seen["chunk"])


@pytest.mark.parametrize("saved", [name for name in SAVED if name.endswith("/diffusion")])
def test_diffusion_denoises_to_what_that_version_did(saved: str, tmp_path: Path) -> None:
    """Its configuration has `gradient_checkpointing` from 0.6 on."""
    source = read_source(restored(saved, tmp_path / "policy"))
    pixels = [Pixels(source.normalisation(key)) for key in source.images]
    network = lerobot_policy(source).diffusion
    schedule, context = diffusion_schedule(network), DiffusionContext(network, pixels).eval()
    for case in CASES:
        seen = answered(saved, case)
        with torch.no_grad():
            known = context(*tensors(*seen["images"], normalised_state(source, seen["state"])))

            def predict(x: np.ndarray, time: float, known: torch.Tensor = known) -> np.ndarray:
                noisy, at = tensors(x[None].astype(np.float32), np.array([time], np.float32))
                return np.asarray(network.unet(noisy, at, global_cond=known))[0]

            chunk = schedule.sample(predict, seen["noise"][0], None, np.random.default_rng())
        first = network.config.n_obs_steps - 1
        rows = chunk[None, first : first + network.config.n_action_steps]
        assert_close(denormalised(source, rows, seen["state"][-1]), seen["chunk"])


VLAS = [name for name in SAVED if "pi0" in name or "smolvla" in name]


@pytest.mark.parametrize("saved", VLAS)
def test_a_vla_denoises_to_what_that_version_did(saved: str, tmp_path: Path) -> None:
    """Instructions, padding of images and state, embeddings and relative actions are those of that version.

    In torch: that graphs answer what these modules answer is measured at every import.
    """
    source = read_source(restored(saved, tmp_path / "policy"))
    context, prompt = vla(source)
    for case, instruction in enumerate(INSTRUCTIONS):
        seen = answered(saved, case)
        state = normalised_state(source, seen["state"])
        tokens, mask = prompt.encode(instruction, state[0])
        np.testing.assert_array_equal(tokens[: seen["tokens"].size], seen["tokens"][0])  # LeRobot may pad fewer
        observed = tensors(*seen["images"], state, tokens[None], mask[None])
        (x,) = tensors(seen["noise"])
        with torch.no_grad():
            for k in range(context.steps):
                x = x - context.velocity(observed, x, torch.tensor([1.0 - k / context.steps])) / context.steps
        assert_close(denormalised(source, x.numpy()[:, :, : source.action_size], seen["state"][0]), seen["chunk"])


def tensors(*arrays: np.ndarray) -> list[torch.Tensor]:
    return [torch.from_numpy(np.ascontiguousarray(array)) for array in arrays]


def vla(source: LeRobotSource) -> tuple[VlaContext, Prompt]:
    """Returns what `context.onnx` is made from, and what reads an instruction."""
    views = vla_views(source, CAMERAS)
    with nullcontext() if source.type == "smolvla" else tiny_gemma(source.type):
        if source.type == "smolvla":
            policy, tokenizer = smolvla_policy(source)
            context: VlaContext = SmolVlaContext(policy, views, [Pixels(source.normalisation(key)) for key in views])
        else:
            policy, tokenizer = pi_policy(source), read_tokenizer(source, "PaliGemma")
            context = PiContext(policy, views, pi_pixels(source, policy.config, views), pi_prompt(source))
    file = bundle_tokenizer(tokenizer)
    return context.eval(), Prompt(context.prompt, file, policy.config.tokenizer_max_length)


def assert_close(found: np.ndarray, wanted: np.ndarray) -> None:
    assert found.shape == wanted.shape
    assert np.linalg.norm(found - wanted) <= BOUND * np.linalg.norm(wanted)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return restored("0.6.1/act", tmp_path / "policy")


def changed(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    raw = json.loads(path.read_text())
    change(raw)
    path.write_text(json.dumps(raw))


def test_inert_fields_are_left_out_by_name_and_no_others(folder: Path) -> None:
    assert left_out(read_source(folder)) == ("pretrained_revision",)
    changed(folder / "config.json", lambda raw: raw.update(attention_window=4, rope_scale=2.0))
    with pytest.raises(ConfigError, match=r"act has no setting attention_window, rope_scale in any LeRobot up to 0\.6"):
        lerobot_policy(read_source(folder))


def test_a_null_that_lerobot_cannot_read_is_named_in_words(tmp_path: Path) -> None:
    """Draccus puts dots between the letters of its message."""
    folder = restored("0.6.1/smolvla", tmp_path / "policy")
    changed(folder / "config.json", lambda raw: raw.update(optimizer_betas=None))
    with pytest.raises(ConfigError, match=r"LeRobot refuses .*optimizer_betas is null: Value must not be None"):
        smolvla_policy(read_source(folder))


@pytest.mark.parametrize(
    ("size", "error"), [([36, 48], "top is 48x36: without resizing it must be square"), ([48, 48], "")]
)
def test_smolvla_without_resizing_takes_square_images(tmp_path: Path, size: list[int], error: str) -> None:
    folder = restored("0.6.1/smolvla", tmp_path / "policy")
    changed(folder / "config.json", lambda raw: raw.update(resize_imgs_with_padding=None))
    shapes = {f"observation.images.{key}": {"type": "VISUAL", "shape": [3, *size]} for key in CAMERAS}
    changed(folder / "config.json", lambda raw: raw["input_features"].update(shapes))
    source = read_source(folder)
    policy, _ = smolvla_policy(source)
    with pytest.raises(ConfigError, match=error) if error else nullcontext():
        check_sizes(source, policy, vla_views(source, CAMERAS))
        image = torch.rand(1, 3, *size)
        seen, _ = policy.prepare_images({f"observation.images.{key}": image for key in CAMERAS})
        assert policy.model.vlm_with_expert.embed_image(seen[0]).shape[1] == 9


def test_act_that_does_not_see_the_state_answers_without_it(tmp_path: Path) -> None:
    """LeRobot runs it; a bundle then has a constant for a state, which changes nothing."""
    folder = restored("0.6.1/act", tmp_path / "policy")
    changed(folder / "config.json", lambda raw: raw["input_features"].pop("observation.state"))
    names = json.loads((folder / "weights.json").read_text())
    kept = {
        name: number_of(name, tuple(shape), kind) for name, (kind, shape) in names.items() if "robot_state" not in name
    }
    for name in ("model.encoder_1d_feature_pos_embed.weight", "model.vae_encoder_pos_enc"):
        kept[name] = kept[name][:1] if name.startswith("model.encoder") else kept[name][:, 1:]
    save_file({name: np.ascontiguousarray(value) for name, value in kept.items()}, folder / "model.safetensors")
    source = read_source(folder)
    assert (source.sees_state, source.state_size) == (False, 1)
    module = ActGraph(lerobot_policy(source).model, [Pixels(source.normalisation(key)) for key in source.images]).eval()
    images = answered("0.6.1/act", 0)["images"]
    with torch.no_grad():
        first, second = (module(*tensors(*images, np.full((1, 1), value, np.float32)))[0] for value in (0.0, 5.0))
    assert first.shape == (1, 6, 6) and torch.equal(first, second)

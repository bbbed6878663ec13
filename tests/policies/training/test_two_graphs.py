"""The small policy as two graphs: the same policy, with a flow that can be in-painted."""

import json
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import save_file

from tendon.core.errors import ConfigError, MismatchError
from tendon.policies.bundle.bundle import load_bundle
from tendon.policies.engines.loading import Tensor
from tendon.policies.export import bundle as export
from tendon.policies.export.networks import two_graphs
from tendon.policies.inference.model import PolicyModel
from tendon.policies.parity.bundle import repeat_parity
from tendon.policies.spec.manifest import Continuation
from tendon.policies.spec.prefix import Prefix
from tendon.policies.spec.spaces import STATE_ITEMS, ActionSpace
from tendon.policies.training.model import FLOW_STEPS, Shape, SmallVla
from tendon.policies.training.recover import recover_run
from tendon.robots.profile import load_profile
from tests.laws import law_settings

torch.set_num_threads(1)
SHAPE = Shape(
    cameras={"scene": (32, 32), "wrist": (32, 32)}, tools=1, state=7, rows=16, components=4, tokens=16, vocabulary=9
)
STATE = [{"name": name, "size": size, "unit": unit} for name, (size, unit) in STATE_ITEMS.items()]
VIEW = {"rotation": [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], "eye": [0.0, 0.0, 1.0], "focal": 1.0}
VIEWS = {name: VIEW | {"on_tool": 0 if name == "wrist" else None} for name in SHAPE.cameras}
PANDA = load_profile("panda")
PROFILE = replace(PANDA, cameras=tuple(replace(camera, width=32, height=32) for camera in PANDA.cameras))
NO_PLAN = Prefix(rows=np.empty((0, 4)), frozen=0)


def statistics(seed: int, spread: float = 1.0) -> dict[str, list[float]]:
    """Rows that are normalised very differently, so that one number a component cannot be right."""
    rng = np.random.default_rng(seed)
    return {
        "state_mean": [0.0] * 7,
        "state_std": [1.0] * 7,
        "action_mean": (spread * rng.standard_normal((16, 4))).tolist(),
        "action_std": rng.uniform(0.1, 2.0, (16, 4)).tolist(),
    }


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `tendon policy train` leaves, but with random weights."""
    folder = tmp_path_factory.mktemp("run")
    torch.manual_seed(1)
    save_file(SmallVla(SHAPE, VIEWS, statistics(0)).state_dict(), folder / "weights.safetensors")
    record = {"recipe": {}, "shape": asdict(SHAPE), "vocabulary": ["<pad>", "<unk>", *"abcdefg"], "step_s": 0.1}
    record |= {"state": STATE, "action": {"space": "tool_position"}}
    record |= {"statistics": statistics(0), "prefix_rows": 5, "cameras": VIEWS, "frames": 0, "step": 0}
    (folder / "run.json").write_text(json.dumps(record))
    return folder


@pytest.fixture(scope="module")
def folder(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("two")
    export.export_bundle(run, folder, PROFILE, "tiny", denoiser=True)
    return folder


def feeds(seed: int) -> dict[str, Tensor]:
    rng = np.random.default_rng(seed)
    images = {f"image_{k}": rng.integers(0, 256, (1, h, w, 3), np.uint8) for k, (h, w) in SHAPE.cameras.items()}
    tokens = rng.integers(0, SHAPE.vocabulary, (1, SHAPE.tokens))
    return images | {"state": rng.standard_normal((1, SHAPE.state), np.float32), "tokens": tokens}


def test_without_a_plan_they_answer_what_the_one_graph_answers_without_a_prefix(
    run: Path, folder: Path, tmp_path: Path
) -> None:
    one = PolicyModel(export.export_bundle(run, tmp_path, PROFILE, "tiny")[0], threads=1)
    two = PolicyModel(load_bundle(folder), threads=1)
    for seed in range(4, 12):
        (wanted, said), (actions, also) = (m.answer(feeds(seed), NO_PLAN, Continuation.OVERLAP) for m in (one, two))
        np.testing.assert_allclose(actions, wanted, atol=1e-4)
        for output in ("points", "embedding"):
            np.testing.assert_allclose(also[output], said[output], atol=1e-4)


def test_the_bundle_says_that_it_is_inpainted_and_not_given_a_prefix(folder: Path) -> None:
    manifest = load_bundle(folder).manifest
    assert manifest.continuations == (Continuation.INPAINTING, Continuation.OVERLAP)
    assert (manifest.prefix_rows, sorted(manifest.files)) == (
        0,
        ["context.onnx", "denoise.onnx", "parity.safetensors", "parity.yaml"],
    )


def test_its_receipt_compares_each_graph_and_whole_chunks(folder: Path) -> None:
    repetition = repeat_parity(load_bundle(folder))
    assert repetition.passed
    for rows in (repetition.rows, repetition.receipt.rows):
        assert {row.output for row in rows} == {"context", "points", "embedding", "velocity", "chunk"}


def test_a_plan_is_kept_where_it_is_frozen_and_felt_where_it_has_ended(folder: Path) -> None:
    model = PolicyModel(load_bundle(folder), threads=1)
    plan = Prefix(rows=np.random.default_rng(0).standard_normal((9, 4)), frozen=3)
    free, _ = model.answer(feeds(5), NO_PLAN, Continuation.INPAINTING)
    led, _ = model.answer(feeds(5), plan, Continuation.INPAINTING)
    np.testing.assert_array_equal(led[:3], plan.rows[:3])
    assert np.abs(led[9:] - free[9:]).max() > 1e-4


@law_settings(max_examples=25)
@given(seed=st.integers(0, 2**31), spread=st.floats(0.0, 10.0))
def test_a_step_in_the_bundles_numbers_is_the_networks_step(seed: int, spread: float) -> None:
    """Whatever the two normalisations are: Euler's steps from zeros end at the same actions."""
    torch.manual_seed(seed)
    model = SmallVla(SHAPE, VIEWS, statistics(seed)).eval()
    action = ActionSpace(rows=16, step_s=0.1, mean=(spread, 0.0, 0.1, 1.0), std=(0.1 + spread, 1.0, 1.0, 0.5))
    scale, shift = two_graphs.row_conversion(statistics(seed, spread), action)
    step, context = two_graphs.DenoiseGraph(model, scale, shift), torch.randn(1, 384)
    x, nothing = torch.zeros(1, 16, 4), torch.zeros(1, 16, 4)
    with torch.no_grad():
        for k in range(FLOW_STEPS):
            x = x + step(x, torch.tensor([k / FLOW_STEPS]), context) / FLOW_STEPS
        wanted = model.sample(context, nothing, torch.zeros(1, 16), nothing)
    torch.testing.assert_close(scale * x + shift, wanted, atol=1e-3, rtol=1e-4)


def test_a_graph_that_differs_from_torch_is_not_written(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here it answers otherwise at every call."""

    class Unsteady(two_graphs.DenoiseGraph):
        calls = 0

        def forward(self, x: torch.Tensor, time: torch.Tensor, context: torch.Tensor) -> torch.Tensor:
            Unsteady.calls += 1
            return super().forward(x, time, context) + 0.01 * Unsteady.calls

    monkeypatch.setattr(two_graphs, "DenoiseGraph", Unsteady)
    with pytest.raises(MismatchError, match=r"denoise.onnx differs from torch .* output velocity"):
        export.export_bundle(run, tmp_path, PROFILE, "tiny", denoiser=True)
    assert not (tmp_path / "bundle.yaml").exists()


def test_what_cannot_be_exported_or_recovered_says_why(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="tendon policy train"):
        export.export_bundle(tmp_path, tmp_path / "out", PROFILE, "tiny", denoiser=True)
    with pytest.raises(MismatchError, match="two graphs: recover the run from its one-graph bundle"):
        recover_run(load_bundle(folder), tmp_path / "run", VIEWS)

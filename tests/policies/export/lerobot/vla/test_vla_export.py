"""SmolVLA, pi0 and pi0.5 as two graphs answer what LeRobot's own policies answer, from raw images and words on."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
import yaml

from tendon.cli import main
from tendon.core.errors import ConfigError, IntegrityError
from tendon.core.types import Image, Observation
from tendon.policies.bundle.bundle import load_bundle
from tendon.policies.engines.loading import Engine
from tendon.policies.export.cases import random_observations
from tendon.policies.export.lerobot.bundle import EXPORTERS
from tendon.policies.export.lerobot.exported_policy import ExportedPolicy
from tendon.policies.export.lerobot.packages import lerobot_module
from tendon.policies.export.lerobot.pixels import Pixels
from tendon.policies.export.lerobot.source import read_source
from tendon.policies.export.lerobot.statistics import identity
from tendon.policies.export.networks.pi import export_pi
from tendon.policies.export.networks.smolvla import ContextGraph, export_smolvla
from tendon.policies.export.networks.vla import vla_cases
from tendon.policies.inference.model import denoising_noise
from tendon.policies.inference.policy import BundlePolicy
from tendon.policies.inference.prompt import Prompt
from tendon.policies.spec.manifest import CameraInput
from tendon.policies.spec.sampling import Flow
from tendon.robots.profile import load_profile
from tests.policies.export.lerobot.so101 import JOINTS, write_so101
from tests.policies.export.lerobot.tiny_policies import denormalised, normalised
from tests.policies.export.lerobot.vla.vla_directories import (
    ACTION,
    HEIGHT,
    ROWS,
    STATE,
    WIDTH,
    observation,
    save_pi,
    save_smolvla,
    tiny_gemma,
)

CAMERAS = {"top": "scene", "wrist": "hand"}
KINDS = ("smolvla", "pi0", "pi05")
INSTRUCTIONS = ("pick the cube", "open the drawer, then put it in", "fold_it\n")


@dataclass
class Made:
    """A directory, LeRobot's policy and preprocessor of it, and our graphs."""

    folder: Path
    policy: Any
    preprocess: Any
    graphs: ExportedPolicy

    def lerobot(self, seed: int, instruction: str, noise: np.ndarray) -> np.ndarray:
        """What LeRobot answers: all rows and components that are denoised."""
        seen = observation(seed)
        batch = {f"observation.images.{k}": torch.from_numpy(seen[k]).permute(2, 0, 1) / 255 for k in CAMERAS}
        batch = self.preprocess({**batch, "observation.state": torch.from_numpy(seen["state"]), "task": instruction})
        chunk = self.policy.predict_action_chunk(batch, noise=torch.from_numpy(noise))
        return np.asarray(chunk)

    def ours(self, seed: int, instruction: str, noise: np.ndarray) -> np.ndarray:
        """The same from the graphs, the tokenizer and the numbers beside them."""
        graphs, seen = self.graphs, observation(seed)
        state = normalised(graphs.source, seen["state"])
        assert graphs.tokens is not None and isinstance(graphs.schedule, Flow)
        prompt = Prompt(graphs.tokens.kind, graphs.made.files[graphs.tokens.tokenizer], graphs.tokens.length)
        tokens, mask = prompt.encode(instruction, state)
        feeds = {f"image_{name}": seen[key][None] for key, name in CAMERAS.items()}
        feeds |= {"state": state[None], "tokens": tokens[None], "token_mask": mask[None]}
        context, denoise = (session(graphs, name) for name in ("context.onnx", "denoise.onnx"))
        known = run(context, feeds)

        def predict(x: np.ndarray, time: float) -> np.ndarray:
            inputs = {"x": x[None].astype(np.float32), "time": np.array([time], np.float32), **known}
            return run(denoise, inputs)["velocity"][0]

        chunk = graphs.schedule.sample(predict, noise[0], None, np.random.default_rng())
        return chunk[None, :, : graphs.source.action_size]


def session(graphs: ExportedPolicy, name: str) -> Any:
    return onnxruntime.InferenceSession(graphs.made.files[name], providers=["CPUExecutionProvider"])


def run(graph: Any, feeds: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    names = [value.name for value in graph.get_outputs()]
    return dict(zip(names, graph.run(names, feeds), strict=True))


@contextmanager
def tiny(kind: str) -> Iterator[None]:
    with nullcontext() if kind == "smolvla" else tiny_gemma(kind):
        yield


def export(kind: str, folder: Path, cameras: dict[str, str] | None = None) -> ExportedPolicy:
    with tiny(kind):
        return (export_smolvla if kind == "smolvla" else export_pi)(read_source(folder), cameras or CAMERAS)


@pytest.fixture(scope="module", params=KINDS)
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Made:
    kind = request.param
    folder = tmp_path_factory.mktemp(kind)
    policy = save_smolvla(folder) if kind == "smolvla" else save_pi(folder, kind)
    pipeline: Any = lerobot_module("processor").PolicyProcessorPipeline
    tokenizer = {"tokenizer_processor": {"tokenizer_name": str(folder / "vlm")}}
    preprocess = pipeline.from_pretrained(folder, "policy_preprocessor.json", overrides=tokenizer)
    return Made(folder, policy, preprocess, export(kind, folder))


def test_chunks_are_lerobots(made: Made) -> None:
    """Images, state and words of three observations; a camera is missing, and each prompt has another length."""
    for seed, instruction in enumerate(INSTRUCTIONS):
        noise = np.random.default_rng(seed).standard_normal((1, ROWS, 32), dtype=np.float32)
        wanted, found = made.lerobot(seed, instruction, noise), made.ours(seed, instruction, noise)
        assert wanted.shape == found.shape == (1, ROWS, ACTION)
        assert np.linalg.norm(found - wanted) <= 1e-5 * np.linalg.norm(wanted)


def test_imported_it_makes_the_robot_do_what_lerobot_would(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the command to joints; its graphs are those of the other tests, for an export takes a while."""
    robot = write_so101(tmp_path / "so101", CAMERAS.values(), WIDTH, HEIGHT)
    joints = [{"joint": joint, "unit": "rad"} for joint in JOINTS]
    action = {"space": "joint_position", "relative_to": "nothing", "joints": joints[:ACTION], "held": [JOINTS[-1]]}
    spaces = tmp_path / "spaces.yaml"
    spaces.write_text(yaml.safe_dump({"state": [{"name": "joints", "joints": joints}], "action": action}))
    monkeypatch.setitem(EXPORTERS, made.graphs.source.type, lambda *_: made.graphs)  # type: ignore[misc]
    cameras = [text for key, name in CAMERAS.items() for text in ("--camera", f"{key}={name}")]
    given = ["--robot", str(robot), *cameras, "--spaces", str(spaces), "--rate", "10"]
    assert main(["policy", "import", str(made.folder), str(tmp_path / "mine"), *given]) == 0
    assert main(["policy", "check", str(tmp_path / "mine"), "--engine", "cpu"]) == 0

    profile = load_profile(robot)
    policy = BundlePolicy(load_bundle(tmp_path / "mine"), profile, Engine("cpu"))
    seen = observation(0)
    images = {name: Image(stamp_ns=1, pixels=seen[key]) for key, name in CAMERAS.items()}
    state = seen["state"].astype(np.float64)
    observed = Observation(
        stamp_ns=1, joint_position=state, joint_velocity=np.zeros(STATE), images=images, instruction="pick the cube"
    )
    chunk = policy.infer(observed).actions[:, :ACTION]
    noise = denoising_noise(0).standard_normal((1, ROWS, 32)).astype(np.float32)  # what the policy draws first
    wanted = denormalised(made.graphs.source, made.lerobot(0, "pick the cube", noise)[0])
    lower, upper = (profile.vector(bound)[:ACTION] for bound in ("lower", "upper"))
    np.testing.assert_allclose(chunk, np.clip(wanted, lower, upper), atol=1e-4)
    assert ((wanted > lower) & (wanted < upper)).any()


def test_what_is_seen_read_and_felt_counts(made: Made) -> None:
    """None of the inputs is lost on the way: each changes the answer."""
    noise = np.zeros((1, ROWS, 32), np.float32)
    answers = [made.ours(seed, words, noise) for seed, words in ((0, "cube"), (1, "cube"), (0, "drawer"))]
    assert np.abs(answers[0] - answers[1]).max() > 1e-3
    assert np.abs(answers[0] - answers[2]).max() > 1e-3


def test_the_context_is_read_whole_and_never_grows(made: Made) -> None:
    """The denoiser takes what the context answers, by name, type and shape, and answers nothing but the velocity."""
    context, denoise = (session(made.graphs, name) for name in ("context.onnx", "denoise.onnx"))
    answered = {value.name: (value.type, value.shape) for value in context.get_outputs()}
    taken = {value.name: (value.type, value.shape) for value in denoise.get_inputs()}
    assert {name: taken[name] for name in answered} == answered
    assert set(taken) - set(answered) == {"x", "time"}
    assert [(value.name, value.shape) for value in denoise.get_outputs()] == [("velocity", [1, ROWS, 32])]


def test_a_missing_camera_costs_nothing(made: Made) -> None:
    """It is no part of the prefix: two images, the words, and for SmolVLA the state and its padding."""
    tokens = made.graphs.tokens
    assert tokens is not None
    prefix = made.graphs.made.cases[0]["prefix_mask"].shape[1]
    assert (
        prefix == {"smolvla": 40, "pi0": 2 * 4 + tokens.length, "pi05": 2 * 4 + tokens.length}[made.graphs.source.type]
    )


def test_tokens_around_the_images_of_smolvla_stand_for_a_missing_camera_too(tmp_path: Path) -> None:
    """LeRobot attends to them, so the image between is kept; compared in torch, a graph takes longer."""
    policy = save_smolvla(tmp_path, add_image_special_tokens=True)
    views = {f"observation.images.{k}": CameraInput(name=k, width=WIDTH, height=HEIGHT) for k in ("top", "wrist")}
    context = ContextGraph(policy, views, [Pixels(identity(3)) for _ in views]).eval()
    case = vla_cases(context, policy.config, random_observations(tuple(views.values()), STATE))[1]
    observed = [torch.from_numpy(np.array(case[name])) for name in context.inputs]
    batch = {**context.batch(observed[:2]), "observation.state": observed[2]}
    x, tokens, mask = (torch.from_numpy(np.array(case[name])) for name in ("x", "tokens", "token_mask"))
    with torch.no_grad():
        state = policy.prepare_state(batch)
        wanted = policy.model.sample_actions(*policy.prepare_images(batch), tokens, mask, state, noise=x)
        found = x
        for k in range(10):
            found = found - 0.1 * context.velocity(observed, found, torch.tensor([1.0 - 0.1 * k]))
    assert torch.linalg.norm(found - wanted) <= 1e-5 * torch.linalg.norm(wanted)


def test_graphs_say_what_they_are(made: Made) -> None:
    graphs = made.graphs
    assert (graphs.rows, graphs.source.action_size, graphs.model_components) == (ROWS, ACTION, 32)
    assert [camera.name for camera in graphs.views.values()] == ["scene", "hand"]
    assert all(row.passed and row.relative < 1e-5 for row in graphs.made.parity)
    assert graphs.schedule == Flow(steps=10, start=1.0, end=0.0)


def test_smolvla_projects_the_prefix_once(made: Made) -> None:
    """The weights that its cross-attention projects the prefix with are in the context, not in the denoiser."""
    if made.graphs.source.type != "smolvla":
        pytest.skip("only SmolVLA has cross-attention layers")
    attention = made.policy.model.vlm_with_expert.lm_expert.layers[1].self_attn
    for projection in (attention.k_proj, attention.v_proj):
        weight = projection.weight.detach().numpy()
        held = {name: any(_is(weight, tensor) for tensor in _weights(made, name)) for name in ("context", "denoise")}
        assert held == {"context": True, "denoise": False}


def _weights(made: Made, name: str) -> list[np.ndarray]:
    graph = onnx.load_from_string(made.graphs.made.files[f"{name}.onnx"]).graph
    return [onnx.numpy_helper.to_array(tensor) for tensor in graph.initializer]


def _is(weight: np.ndarray, tensor: np.ndarray) -> bool:
    return any(tensor.shape == w.shape and np.array_equal(tensor, w) for w in (weight, weight.T))


class TestRefused:
    """Everything that would make another policy of it."""

    @pytest.fixture
    def folder(self, made: Made, tmp_path: Path) -> Path:
        return Path(shutil.copytree(made.folder, tmp_path / "policy"))

    def kind(self, folder: Path) -> str:
        return str(json.loads((folder / "config.json").read_text())["type"])

    def set(self, folder: Path, file: str, **changes: Any) -> None:
        path = folder / file
        path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))

    @pytest.mark.parametrize("file", ["tokenizer.json", "tokenizer_config.json"])
    def test_without_tokenizer(self, folder: Path, file: str) -> None:
        (folder / "vlm" / file).unlink()
        with pytest.raises(ConfigError, match=rf"vlm/{file} is missing: copy config.json, .* to .*policy/vlm"):
            export(self.kind(folder), folder)

    def test_without_the_language_models_configuration(self, folder: Path) -> None:
        if self.kind(folder) != "smolvla":
            pytest.skip("LeRobot knows PaliGemma's")
        (folder / "vlm" / "config.json").unlink()
        with pytest.raises(ConfigError, match=r"vlm/config\.json is missing"):
            export("smolvla", folder)

    def test_with_a_tokenizer_that_is_none(self, folder: Path) -> None:
        (folder / "vlm" / "tokenizer.json").write_text("{}")
        with pytest.raises(ConfigError, match="does not load"):
            export(self.kind(folder), folder)

    def test_without_padding_token(self, folder: Path) -> None:
        path = folder / "vlm" / "tokenizer_config.json"
        raw = json.loads(path.read_text())
        path.write_text(json.dumps({**raw, "pad_token": None}))
        (folder / "vlm" / "special_tokens_map.json").unlink()
        with pytest.raises(ConfigError, match="names no pad_token"):
            export(self.kind(folder), folder)

    def test_with_too_few_cameras(self, folder: Path) -> None:
        with pytest.raises(ConfigError, match="no camera for the policy's image"):
            export(self.kind(folder), folder, {"top": "scene"})

    def test_with_an_unknown_camera(self, folder: Path) -> None:
        with pytest.raises(ConfigError, match="the policy has no image 'side'"):
            export(self.kind(folder), folder, {"top": "scene", "side": "hand"})

    def test_with_weights_of_another_policy(self, folder: Path) -> None:
        self.set(folder, "config.json", max_action_dim=31)
        with pytest.raises(ConfigError, match=r"wrong shapes: .*action_"):
            export(self.kind(folder), folder)

    def test_with_weights_cut_off(self, folder: Path) -> None:
        path = folder / "model.safetensors"
        path.write_bytes(path.read_bytes()[:-100])
        with pytest.raises(IntegrityError, match="truncated"):
            export(self.kind(folder), folder)

    def test_with_a_step_that_no_graph_makes(self, folder: Path) -> None:
        path = folder / "policy_preprocessor.json"
        raw = json.loads(path.read_text())
        raw["steps"].insert(0, {"registry_name": "clip_actions_processor", "config": {}})
        path.write_text(json.dumps(raw))
        with pytest.raises(ConfigError, match="clip_actions_processor"):
            export(self.kind(folder), folder)

    def test_with_words_padded_on_the_other_side(self, folder: Path) -> None:
        path = folder / "policy_preprocessor.json"
        raw = json.loads(path.read_text())
        for step in raw["steps"]:
            if step["registry_name"] == "tokenizer_processor":
                step["config"]["padding_side"] = "left"
        path.write_text(json.dumps(raw))
        with pytest.raises(ConfigError, match="pads on the left"):
            export(self.kind(folder), folder)

    @pytest.mark.parametrize(("kind", "name", "value"), [
        ("smolvla", "adapt_to_pi_aloha", True),
        ("smolvla", "use_cache", False),
        ("smolvla", "n_obs_steps", 2),
        ("pi0", "n_obs_steps", 2),
        ("pi05", "max_state_dim", 40),
    ])  # fmt: skip
    def test_with_a_setting_that_no_graph_has(self, folder: Path, kind: str, name: str, value: Any) -> None:
        if self.kind(folder) != kind:
            pytest.skip(f"a setting of {kind}")
        self.set(folder, "config.json", **{name: value})
        with pytest.raises(ConfigError, match=name):
            export(kind, folder)

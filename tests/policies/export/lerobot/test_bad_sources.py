"""A LeRobot directory that is not what it says is refused, by name, before anything is built or run."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from tendon.core.errors import ConfigError, IntegrityError
from tendon.policies.export.lerobot.pixels import camera_inputs
from tendon.policies.export.lerobot.policy import lerobot_policy
from tendon.policies.export.lerobot.source import read_source
from tests.policies.export.lerobot.tiny_policies import CAMERAS, STATE, save_act, statistics

WEIGHTS = "model.safetensors"
NORMALIZER = "policy_preprocessor_step_3_normalizer_processor.safetensors"
UNNORMALIZER = "policy_postprocessor_step_0_unnormalizer_processor.safetensors"
Change = Callable[[Path], None]


@pytest.fixture
def folder(act_folder: Path, tmp_path: Path) -> Path:
    """A copy to break, of links: a change puts a new file in place."""
    return Path(shutil.copytree(act_folder, tmp_path / "policy", copy_function=os.link))


def _json(file: str, change: Callable[[dict[str, Any]], Any]) -> Change:
    def apply(folder: Path) -> None:
        raw = json.loads((folder / file).read_text())
        change(raw)
        (folder / file).unlink()
        (folder / file).write_text(json.dumps(raw))

    return apply


def _tensors(file: str, change: Callable[[dict[str, torch.Tensor]], Any]) -> Change:
    def apply(folder: Path) -> None:
        tensors = {name: tensor.clone() for name, tensor in load_file(folder / file).items()}
        change(tensors)
        (folder / file).unlink()
        save_file(tensors, folder / file)

    return apply


def _bytes(file: str, change: Callable[[bytes], bytes]) -> Change:
    def apply(folder: Path) -> None:
        content = (folder / file).read_bytes()
        (folder / file).unlink()
        (folder / file).write_bytes(change(content))

    return apply


def _pickled(folder: Path) -> None:
    (folder / WEIGHTS).rename(folder / "pytorch_model.bin")


READ = {
    "weights cut short": (_bytes(WEIGHTS, lambda b: b[:-1000]), IntegrityError, "truncated"),
    "weights cut in the header": (_bytes(WEIGHTS, lambda b: b[:200]), IntegrityError, "truncated"),
    "weights with bytes added": (_bytes(WEIGHTS, lambda b: b + b"\0" * 8), IntegrityError, "truncated"),
    "weights with a changed offset": (_bytes(WEIGHTS, lambda b: b.replace(b"[0,", b"[4,", 1)), IntegrityError, WEIGHTS),
    "a pickle in place of weights": (_pickled, IntegrityError, r"pytorch_model\.bin may hold code"),
    "a pickle called safetensors": (_bytes(WEIGHTS, lambda _: b"\x80\x04N."), IntegrityError, "no safetensors"),
    "no configuration": (lambda f: (f / "config.json").unlink(), ConfigError, "no config.json"),
    "a configuration that is no JSON": (_bytes("config.json", lambda b: b[:-9]), ConfigError, "not valid JSON"),
    "a configuration that is a list": (_bytes("config.json", lambda _: b"[]"), ConfigError, "must hold an object"),
    "an unknown type": (
        _json("config.json", lambda raw: raw.update(type="tdmpc")),
        ConfigError,
        "'tdmpc', known: act, diffusion, pi0, pi05, smolvla",
    ),
    "no type": (_json("config.json", lambda raw: raw.pop("type")), ConfigError, "policy type is None"),
    "no action": (_json("config.json", lambda raw: raw["output_features"].clear()), ConfigError, "output_features"),
    "no state, in a type that LeRobot cannot run without": (
        _json(
            "config.json", lambda raw: raw.update(type="diffusion") or raw["input_features"].pop("observation.state")
        ),
        ConfigError,
        "diffusion has no feature observation.state; without it LeRobot runs act alone",
    ),
    "no image": (
        _json(
            "config.json",
            lambda raw: raw.update(input_features={"observation.state": raw["input_features"]["observation.state"]}),
        ),
        ConfigError,
        "the policy sees no image: LeRobot runs act on a robot with at least one",
    ),
    "a grey image": (
        _json("config.json", lambda raw: raw["input_features"]["observation.images.top"].update(shape=[1, 48, 64])),
        ConfigError,
        r"must be \(3, height, width\)",
    ),
    "an environment's state": (
        _json(
            "config.json",
            lambda raw: raw["input_features"].update({"observation.environment_state": {"type": "ENV", "shape": [3]}}),
        ),
        ConfigError,
        "a robot has no input observation.environment_state",
    ),
    "a shape that is no shape": (
        _json("config.json", lambda raw: raw["output_features"]["action"].update(shape=["7"])),
        ConfigError,
        "must be a list of sizes",
    ),
    "no processors": (lambda f: (f / "policy_preprocessor.json").unlink(), ConfigError, "normalisation is unknown"),
    "statistics cut short": (_bytes(NORMALIZER, lambda b: b[:-8]), IntegrityError, "truncated"),
    "statistics gone": (lambda f: (f / NORMALIZER).unlink(), IntegrityError, "is missing"),
    "statistics in another folder": (
        _json("policy_preprocessor.json", lambda raw: raw["steps"][3].update(state_file="../secret.safetensors")),
        IntegrityError,
        "must be a plain name",
    ),
    "statistics in a pickle": (
        _json("policy_preprocessor.json", lambda raw: raw["steps"][3].update(state_file="statistics.pt")),
        IntegrityError,
        "must be safetensors",
    ),
    "a step that is code": (
        _json("policy_preprocessor.json", lambda raw: raw["steps"].append({"class": "os.system", "config": {}})),
        ConfigError,
        "code is never loaded",
    ),
}


@pytest.mark.parametrize("case", READ)
def test_a_broken_directory_is_refused_when_it_is_read(folder: Path, case: str) -> None:
    change, error, text = READ[case]
    change(folder)
    with pytest.raises(error, match=text):
        read_source(folder)


STATISTICS = {
    "state without mean": (_tensors(NORMALIZER, lambda t: t.pop("observation.state.mean")), "state .*lack mean"),
    "state without any": (
        _tensors(NORMALIZER, lambda t: [t.pop(key) for key in list(t) if key.startswith("observation.state.")]),
        "observation.state is normalised by MEAN_STD but its statistics lack mean, std",
    ),
    "no statistics file": (
        _json("policy_preprocessor.json", lambda raw: raw["steps"][3].pop("state_file")),
        "observation.state .*has: none",
    ),
    "a state of another size": (
        _tensors(NORMALIZER, lambda t: t.update({"observation.state.std": torch.ones(STATE + 1)})),
        r"std has shape \[7\], expected \[6\]",
    ),
    "not finite": (
        _tensors(NORMALIZER, lambda t: t["observation.state.mean"].fill_(float("nan"))),
        "must be finite",
    ),
    "a negative deviation": (_tensors(NORMALIZER, lambda t: t["observation.state.std"].neg_()), "must not be negative"),
    "an eps that is no number": (
        _json("policy_preprocessor.json", lambda raw: raw["steps"][3]["config"].update(eps="small")),
        "eps of normalizer_processor is 'small', must be a float",
    ),
    "modes that are no mapping": (
        _json("policy_preprocessor.json", lambda raw: raw["steps"][3]["config"].update(norm_map=["MEAN_STD"])),
        r"norm_map of normalizer_processor is \['MEAN_STD'\], must be a dict",
    ),
    "an unknown mode": (
        _json("policy_preprocessor.json", lambda raw: raw["steps"][3]["config"]["norm_map"].update(STATE="LOG")),
        "normalisation 'LOG', known: IDENTITY, MEAN_STD",
    ),
}


@pytest.mark.parametrize("case", STATISTICS)
def test_missing_or_wrong_statistics_name_the_feature(folder: Path, case: str) -> None:
    change, text = STATISTICS[case]
    change(folder)
    with pytest.raises(ConfigError, match=text):
        read_source(folder).normalisation("observation.state")


def test_an_action_without_statistics_is_refused(folder: Path) -> None:
    _tensors(UNNORMALIZER, lambda t: t.pop("action.std"))(folder)
    with pytest.raises(ConfigError, match=r"feature action .*lack std"):
        read_source(folder).action_normalisation()


def test_a_step_that_we_do_not_know_is_refused(folder: Path) -> None:
    step = {"registry_name": "time_limit_processor", "config": {}}
    _json("policy_preprocessor.json", lambda raw: raw["steps"].append(step))(folder)
    with pytest.raises(ConfigError, match="step 'time_limit_processor' of policy type act is unknown"):
        read_source(folder).check_steps()


WEIGHT = "model.action_head.weight"
BUILD = {
    "a weight is missing": (_tensors(WEIGHTS, lambda t: t.pop(WEIGHT)), ConfigError, f"lacks {WEIGHT}"),
    "a weight too many": (_tensors(WEIGHTS, lambda t: t.update(x=torch.ones(1))), ConfigError, "has unknown x"),
    "a weight of another shape": (
        _tensors(WEIGHTS, lambda t: t.update({WEIGHT: t[WEIGHT].T.contiguous()})),
        ConfigError,
        r"\[32, 7\], expected \[7, 32\]",
    ),
    "a weight that is not finite": (
        _tensors(WEIGHTS, lambda t: t[WEIGHT].fill_(float("inf"))),
        IntegrityError,
        f"weight {WEIGHT} is not finite",
    ),
    "a value that no layer can have": (
        _json("config.json", lambda raw: raw.update(dim_model=-8)),
        ConfigError,
        "LeRobot refuses",
    ),
    "temporal ensembling over several rows": (
        _json("config.json", lambda raw: raw.update(temporal_ensemble_coeff=0.01)),
        ConfigError,
        "n_action_steps",
    ),
    "a key that LeRobot has not": (
        _json("config.json", lambda raw: raw.update(chunk=10)),
        ConfigError,
        "act has no setting chunk in any LeRobot",
    ),
    "a value that LeRobot refuses": (
        _json("config.json", lambda raw: raw.update(vision_backbone="vit")),
        ConfigError,
        "must be one of the ResNet",
    ),
    "a backbone that there is not": (
        _json("config.json", lambda raw: raw.update(vision_backbone="resnet19")),
        ConfigError,
        "resnet19",
    ),
    "another width": (_json("config.json", lambda raw: raw.update(dim_model=64)), ConfigError, "wrong shapes"),
}


@pytest.mark.parametrize("case", BUILD)
def test_weights_and_configuration_of_two_policies_are_refused(folder: Path, case: str) -> None:
    change, error, text = BUILD[case]
    change(folder)
    with pytest.raises(error, match=text):
        lerobot_policy(read_source(folder))


@pytest.mark.parametrize(
    ("cameras", "text"),
    [
        ({"top": "scene"}, "no camera for the policy's image wrist: add --camera wrist=CAMERA"),
        ({**CAMERAS, "left": "left"}, "no image 'left', it sees top, wrist"),
        ({"top": "scene", "wrist": "scene"}, "can be named once"),
        ({"top": "scene", "observation.images.top": "wrist"}, "can be named once"),
    ],
)
def test_cameras_that_do_not_fit_are_refused(act_folder: Path, cameras: dict[str, str], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        camera_inputs(read_source(act_folder), cameras)


@pytest.mark.parametrize("mode", ["MEAN_STD", "MIN_MAX", "QUANTILES"])
def test_statistics_of_every_mode_are_those_of_lerobot(tmp_path: Path, mode: str) -> None:
    from tendon.policies.export.lerobot.packages import lerobot_module

    modes = lerobot_module("configs.types").NormalizationMode
    mapping = {"VISUAL": modes.IDENTITY, "STATE": modes[mode], "ACTION": modes[mode]}
    source = read_source(save_act(tmp_path, normalization_mapping=mapping))
    pipeline = lerobot_module("processor").PolicyProcessorPipeline
    before = pipeline.from_pretrained(tmp_path, config_filename="policy_preprocessor.json")
    low = statistics()["observation.state"]["min"]
    states = torch.rand((50, STATE)) * 3 - 1.5
    states[:, 2] = low[2]  # the component that never varied, at its value
    wanted = before({"observation.state": states})["observation.state"].numpy()
    affine = source.normalisation("observation.state")
    found = (states.numpy() - np.array(affine.mean)) / np.array(affine.std)
    assert np.abs(wanted - found).max() < 1e-5
    assert source.normalisation("observation.images.top").std == (1.0, 1.0, 1.0)
    rows = torch.rand((50, 7)) * 2 - 1
    action = source.action_normalisation()
    after = lerobot_module("processor").UnnormalizerProcessorStep
    step = after(features={}, norm_map={"ACTION": mode}, stats={"action": statistics()["action"]})
    back = step._normalize_action(rows, inverse=True).numpy()
    assert np.abs(back - (rows.numpy() * np.array(action.std) + np.array(action.mean))).max() < 1e-5


def test_statistics_among_the_weights_as_before_the_processors_are_read(folder: Path) -> None:
    before = read_source(folder)
    for name in ("policy_preprocessor.json", "policy_postprocessor.json"):
        (folder / name).unlink()
    tensors = {name: tensor.clone() for name, tensor in load_file(folder / WEIGHTS).items()}
    for key, numbers in statistics().items():
        layer = "unnormalize_outputs" if key == "action" else "normalize_inputs"
        for name in ("mean", "std"):
            tensors[f"{layer}.buffer_{key.replace('.', '_')}.{name}"] = numbers[name]
    (folder / WEIGHTS).unlink()
    save_file(tensors, folder / WEIGHTS)
    old = read_source(folder)
    assert all(old.normalisation(key) == before.normalisation(key) for key in old.inputs)
    assert old.action_normalisation() == before.action_normalisation()
    assert isinstance(lerobot_policy(old), torch.nn.Module)

"""The JSON schema of bundle.yaml takes what the parser takes, and refuses what it refuses, as far as it can tell."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from typing import Any

import jsonschema
import pytest
import yaml

from tendon.core.errors import ConfigError
from tendon.core.json_schema import schema_text
from tendon.core.pace import Pace
from tendon.policies.spec.manifest import Manifest, PromptInput, manifest_mapping, parse_manifest
from tendon.policies.spec.sampling import Denoiser, Diffusion
from tendon.policies.spec.steering import SteeringInput
from tests import ROOT
from tests.policies.tiny_denoiser import denoised_manifest

FILE = ROOT / "bundles" / "bundle.schema.json"
SCHEMA = json.loads(schema_text(Manifest))
CHECKER = jsonschema.Draft7Validator(SCHEMA)
SHIPPED = sorted((ROOT / "bundles").glob("*/bundle.yaml"))
STEERED = replace(
    denoised_manifest(),
    steering=(SteeringInput(name="speed", lower=-1.0, upper=1.0, default=0.0, meaning="faster or slower"),),
    made_for={"joints": "0" * 64},
)
DIFFUSION = Diffusion(timesteps=(90, 40), alphas=(0.1, 0.5), stochastic=True, prediction="epsilon", clip=1.0)
DENOISER = Denoiser(graph="denoise.onnx", components=4, noise="zeros", kind="diffusion", schedule=DIFFUSION)
MANIFESTS = {
    "a denoiser and steering": STEERED,
    "diffusion": replace(STEERED, denoiser=DENOISER),
    "a prompt": replace(STEERED, instruction=PromptInput(kind="pi0", tokenizer="tokenizer.json", tokens=48)),
    "one task only": replace(STEERED, instruction=None),
    "a pace": replace(STEERED, pace=Pace(replan_rows=3, continued_rows=1)),
}


def test_the_file_is_the_one_that_the_command_prints() -> None:
    """Made by `tendon policy schema > bundles/bundle.schema.json`."""
    jsonschema.Draft7Validator.check_schema(SCHEMA)
    assert FILE.read_text(encoding="utf-8") == schema_text(Manifest)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.parent.name)
def test_every_shipped_bundle_fits(path: Any) -> None:
    CHECKER.validate(yaml.safe_load(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("manifest", MANIFESTS.values(), ids=MANIFESTS.keys())
def test_what_is_written_fits(manifest: Manifest) -> None:
    written = manifest_mapping(manifest)
    CHECKER.validate(written)
    assert parse_manifest(written) == manifest


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("prefix_row",), 3),
        (("format",), 3),
        (("robot",), None),
        (("tool_frame",), ""),
        (("joint_names",), ["a", "a"]),
        (("cameras", 0, "with"), 3),
        (("cameras", 0, "width"), 0),
        (("cameras", 0, "name"), ""),
        (("state", 0, "name"), "tool_speed"),
        (("state", 0, "rotation"), "rot6d"),
        (("state_mean",), ["x"] * 7),
        (("action", "space"), "joint"),
        (("action", "rows"), 0),
        (("action", "step_s"), 0),
        (("action", "step_s"), 11),
        (("action", "rotation_scale"), -1),
        (("action", "frame"), "world"),
        (("action", "joints"), [{"unit": "degrees", "joint": "a"}]),
        (("action", "joints"), [{"unit": "rad", "joint": "a", "sign": 2}]),
        (("prefix_rows",), -1),
        (("history",), 0),
        (("instruction", "tokens"), 0),
        (("instruction", "words"), []),
        (("files",), {"policy.onnx": "abc"}),
        (("made_for", "joints"), "abc"),
        (("steering", 0, "name"), "Speed"),
        (("steering", 0, "meaning"), ""),
        (("denoiser", "noise"), "pink"),
        (("denoiser", "kind"), "flaw"),
        (("denoiser", "components"), 0),
        (("denoiser", "schedule", "steps"), 0),
        (("training",), 5),
    ],
)
def test_both_refuse_a_broken_bundle(place: tuple[Any, ...], value: object) -> None:
    values = copy.deepcopy(manifest_mapping(STEERED))
    assert CHECKER.is_valid(values)
    inner: Any = values
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    assert not CHECKER.is_valid(values)
    with pytest.raises(ConfigError):
        parse_manifest(values)


@pytest.mark.parametrize("key", SCHEMA["required"])
def test_both_miss_a_key(key: str) -> None:
    values = {name: value for name, value in manifest_mapping(STEERED).items() if name != key}
    assert not CHECKER.is_valid(values)
    with pytest.raises(ConfigError, match=r"lacks|format"):
        parse_manifest(values)

"""A bundle that was damaged before it was hashed: nothing but clear errors, or numbers that the filter has to judge."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import onnx
import pytest
import yaml

from tendon.core.errors import ConfigError, IntegrityError, InvalidDataError, TendonError
from tendon.core.types import Observation
from tendon.policies.bundle.bundle import Bundle, load_bundle, write_bundle
from tendon.policies.engines.engine import Engine
from tendon.policies.inference.policy import BundlePolicy
from tendon.robots.profile import RobotProfile
from tests.policies.tiny_denoiser import build_denoised

Make = Callable[..., Bundle]
Observe = Callable[..., Observation]
ENGINES = ("cpu", "openvino")


@pytest.mark.parametrize("engine", ENGINES)
def test_a_graph_cut_off_anywhere_is_refused(
    make_bundle: Make, model: Callable[..., bytes], profile: RobotProfile, engine: str
) -> None:
    """By a half, in the middle of a name, by one byte; the file is named."""
    whole = model()
    for length in (1, 8, 50, len(whole) // 2, len(whole) - 1):
        bundle = make_bundle(data=whole[:length])
        with pytest.raises(IntegrityError, match=r"policy\.onnx.*export the bundle again"):
            BundlePolicy(bundle, profile, Engine.parse(engine))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_graph_with_flipped_bits_is_refused_or_computes(
    make_bundle: Make, model: Callable[..., bytes], profile: RobotProfile, observe: Observe, engine: str
) -> None:
    """Shapes, operators, names, constants: no error of the engine's own comes through."""
    whole, refused = model((0.1, 0.0, 0.0, 0.0)), 0
    for seed in range(25):
        random, data = Random(seed), bytearray(whole)
        for _ in range(random.choice((1, 4))):
            data[random.randrange(len(data))] ^= 1 << random.randrange(8)
        try:
            BundlePolicy(make_bundle(data=bytes(data)), profile, Engine.parse(engine)).infer(observe())
        except TendonError:
            refused += 1
    assert refused > 10


def test_an_operator_that_fails_is_an_error_of_the_observation(
    make_bundle: Make, model: Callable[..., bytes], profile: RobotProfile, observe: Observe
) -> None:
    """The graph loads, but a constant in it leaves nothing to reshape."""
    altered = onnx.ModelProto.FromString(model())
    end = next(each for each in altered.graph.initializer if each.name == "to")
    end.raw_data = bytes(len(end.raw_data))
    bundle = make_bundle(data=altered.SerializeToString())
    with pytest.raises(InvalidDataError, match="the graph gives no answer"):
        BundlePolicy(bundle, profile, Engine.parse("cpu")).infer(observe())
    with pytest.raises((InvalidDataError, IntegrityError), match=r"the graph gives no answer|cannot load"):
        BundlePolicy(bundle, profile, Engine.parse("openvino")).infer(observe())


@pytest.mark.parametrize("name", ["context.onnx", "denoise.onnx"])
def test_either_graph_of_a_denoiser_is_looked_at(tmp_path: Path, profile: RobotProfile, name: str) -> None:
    """At start, not at the first step."""
    whole = build_denoised(tmp_path / "bundle")
    cut = whole.content[name][: len(whole.content[name]) // 2]
    bundle = write_bundle(whole.folder, whole.manifest, {**whole.content, name: cut})
    with pytest.raises(IntegrityError, match=name.replace(".", r"\.")):
        BundlePolicy(bundle, profile)


@pytest.mark.parametrize(
    "where",
    [
        ("state_mean",),
        ("state_std",),
        ("action", "mean"),
        ("action", "std"),
        ("action", "rows"),
        ("cameras", 0, "width"),
        ("files",),
        ("robot",),
    ],
)
def test_what_is_missing_in_bundle_yaml_is_named(make_bundle: Make, where: tuple[Any, ...]) -> None:
    """Statistics for one: nothing is taken for 0 and 1."""
    folder = make_bundle().folder
    raw = yaml.safe_load((folder / "bundle.yaml").read_text())
    inner = raw
    for key in where[:-1]:
        inner = inner[key]
    del inner[where[-1]]
    (folder / "bundle.yaml").write_text(yaml.safe_dump(raw))
    with pytest.raises((ConfigError, IntegrityError), match=rf"bundle\.yaml: .*{where[-1]}"):
        load_bundle(folder)

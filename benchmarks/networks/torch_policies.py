"""The networks that bundles were made of, in torch: what `engines.py` compares engines with."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from networks.random_policies import CAMERAS

from tendon.policies.bundle.bundle import Bundle
from tendon.policies.parity.graph import CASES_FILE, read_cases

Modules = Mapping[str, Any]
Chunk = Callable[[Modules], Any]
"""Makes a chunk with modules, and brings it to the CPU."""


def torch_policy(name: str, bundle: Bundle, source: Path | None, device: str) -> tuple[Modules, Chunk]:
    """Returns the modules that the graphs were made of, and what makes a chunk with them."""
    import torch

    def given(value: Any) -> Any:
        return torch.from_numpy(np.array(value)).to(device)

    if source is None:
        model, example = own_modules(bundle)
        inputs = [value.to(device) for value in example.values()]
        return {"model": model.to(device)}, lambda modules: modules["model"](*inputs)[0].cpu()
    case = read_cases(bundle.content[CASES_FILE])[0]
    if name == "act":
        names, modules = act_modules(source)
        inputs = [given(case[each]) for each in names]
        return {k: m.to(device) for k, m in modules.items()}, lambda modules: modules["model"](*inputs)[0].cpu()
    names, modules = diffusion_modules(source)
    inputs, noise = [given(case[each]) for each in names], np.asarray(case["x"][0], np.float64)
    denoiser = bundle.manifest.denoiser
    assert denoiser is not None

    def chunk(modules: Mapping[str, Any]) -> Any:
        known = modules["context"](*inputs)

        def predict(noisy: Any, now: float) -> Any:
            x, at = given(noisy.astype(np.float32)[None]), given(np.array([now], np.float32))
            return modules["denoise"](x, at, known)[0].cpu().numpy().astype(np.float64)

        return denoiser.schedule.sample(predict, noise, None, np.random.default_rng(0))

    return {k: m.to(device) for k, m in modules.items()}, chunk


def own_modules(bundle: Bundle) -> tuple[Any, dict[str, Any]]:
    """Returns our own network with the weights of a bundle, and inputs."""
    import torch

    from tendon.policies.export.bundle import load_run, random_cases
    from tendon.policies.export.networks.one_graph import policy_graph
    from tendon.policies.training.recover import recover_run
    from tendon.robots.profile import load_profile
    from tendon.sim.viewpoints import labelled_viewpoints

    with tempfile.TemporaryDirectory() as scratch:
        recover_run(bundle, Path(scratch), labelled_viewpoints(load_profile("panda")))
        model, record = load_run(Path(scratch))
    graph = policy_graph(model, record["statistics"], bundle.manifest.action)
    case = random_cases(model.shape, bundle.manifest.cameras)[0]
    return graph.module, {name: torch.from_numpy(np.asarray(case[name])) for name in graph.inputs}


def act_modules(source: Path) -> tuple[tuple[str, ...], dict[str, Any]]:
    """Returns names of inputs, and LeRobot's ACT behind its normalisation of pixels."""
    from tendon.policies.export.networks.act import ActGraph

    names, pixels, policy = lerobot_parts(source)
    return names, {"model": ActGraph(policy.model, pixels).eval()}


def diffusion_modules(source: Path) -> tuple[tuple[str, ...], dict[str, Any]]:
    """Returns names of inputs, and both parts of LeRobot's Diffusion Policy."""
    from tendon.policies.export.networks.diffusion import ContextGraph, DenoiseGraph

    names, pixels, policy = lerobot_parts(source)
    network = policy.diffusion
    modules = {"context": ContextGraph(network, pixels).eval(), "denoise": DenoiseGraph(network.unet).eval()}
    return names, modules


def lerobot_parts(folder: Path) -> tuple[tuple[str, ...], list[Any], Any]:
    """Returns names of inputs as the bundle has them, their normalisation of pixels, and LeRobot's policy."""
    from tendon.policies.export.lerobot.pixels import Pixels, camera_inputs
    from tendon.policies.export.lerobot.policy import lerobot_policy
    from tendon.policies.export.lerobot.source import read_source

    source = read_source(folder)
    views = camera_inputs(source, CAMERAS)
    names = (*(f"image_{view.name}" for view in views.values()), "state")
    return names, [Pixels(source.normalisation(key)) for key in views], lerobot_policy(source)


def lerobot_whole(folder: Path, device: str) -> Callable[[], Any]:
    """Returns LeRobot's own way from what a robot measures to actions in its units: ACT's whole chunk."""
    import torch

    from tendon.policies.export.lerobot.packages import lerobot_module

    policy = lerobot_module("policies.act.modeling_act").ACTPolicy.from_pretrained(folder).to(device)
    pipeline: Any = lerobot_module("processor").PolicyProcessorPipeline
    converters: Any = lerobot_module("processor.converters")
    overrides = {"device_processor": {"device": device}}
    before = pipeline.from_pretrained(folder, config_filename="policy_preprocessor.json", overrides=overrides)
    after = pipeline.from_pretrained(
        folder,
        config_filename="policy_postprocessor.json",
        to_transition=converters.policy_action_to_transition,
        to_output=converters.transition_to_policy_action,
    )
    prepare_observation: Any = lerobot_module("policies.utils").prepare_observation_for_inference
    features = policy.config.input_features
    rng = np.random.default_rng(0)
    measured = {
        key: rng.integers(0, 256, (*feature.shape[1:], 3), dtype=np.uint8)
        if len(feature.shape) == 3
        else np.zeros(feature.shape, np.float32)
        for key, feature in features.items()
    }

    def whole() -> Any:
        with torch.inference_mode():
            batch = before(prepare_observation(dict(measured), torch.device(device)))
            return after(policy.predict_action_chunk(batch)).cpu().numpy()

    return whole

"""SmolVLA, pi0 and pi0.5 with random weights: export, then the graphs against LeRobot's eager modules, in one run.

It needs LeRobot (`make setup-lerobot`). True SmolVLA takes 6 GiB of memory, true pi0 17 GiB and 12 GiB of disk.
LeRobot and its export have a process of their own, the graphs another, each with its own peak. `--repeats 0` makes
each call once, the first one, and no chunk: where minutes count. `--layers 6` builds pi0 or pi0.5 at true width with 6
of 18 layers: where memory does.

Other load on the machine slows wall time, and hardly CPU time: both are printed. "prefix" is all that LeRobot does once
a chunk, pictures included; "step" is one of its denoising steps. What is done goes to stderr while it is done.

Examples:
  python benchmarks/studies/vla_export.py
  python benchmarks/studies/vla_export.py --policy smolvla --size true --repeats 3
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # benchmarks

import harness
import numpy as np
from harness import Number

POLICIES = ("smolvla", "pi0", "pi05")
GIB = 2**30
THREADS = 2
INPUTS, SOURCE = "inputs.npz", "source.npz"

SMOLVLM2_500M = {
    "text_config": {
        "model_type": "llama",
        "hidden_size": 960,
        "intermediate_size": 2560,
        "num_attention_heads": 15,
        "num_key_value_heads": 5,
        "head_dim": 64,
        "num_hidden_layers": 32,
        "vocab_size": 49280,
        "rms_norm_eps": 1e-5,
    },
    "vision_config": {
        "hidden_size": 768,
        "intermediate_size": 3072,
        "num_attention_heads": 12,
        "num_hidden_layers": 12,
        "image_size": 512,
        "patch_size": 16,
    },
    "scale_factor": 4,
}
"""The language model SmolVLA was built on; 16 of its 32 layers are used."""


def measured(call: Callable[[], Any], repeats: int) -> tuple[float, float]:
    """Returns the median wall time and CPU time [s] of a call, after one that does not count; of the first for 0."""
    if repeats:
        call()
    wall, cpu = [], []
    for _ in range(max(repeats, 1)):
        begin, begin_cpu = time.perf_counter(), time.process_time()
        call()
        wall.append(time.perf_counter() - begin)
        cpu.append(time.process_time() - begin_cpu)
    return float(np.median(wall)), float(np.median(cpu))


def peak_gib() -> float:
    """Returns the most memory this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / GIB


class Clock:
    """Wall and CPU time [s] since the last lap, told as they pass."""

    def __init__(self) -> None:
        self._begin = time.perf_counter(), time.process_time()

    def lap(self, what: str) -> tuple[float, float]:
        """Ends a lap and begins the next one."""
        now = time.perf_counter(), time.process_time()
        took, self._begin = (now[0] - self._begin[0], now[1] - self._begin[1]), now
        print(f"{what}: {took[0]:.1f} s wall, {took[1]:.1f} s CPU, peak {peak_gib():.2f} GiB", file=sys.stderr)
        return took


def build(policy: str, size: str, cameras: int, layers: int) -> Any:
    """Returns LeRobot's policy with random weights; `layers` are pi's, 0 for all."""
    import torch

    torch.set_num_threads(THREADS)
    if size == "tiny":
        sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
        from tests.policies.export.lerobot.vla import vla_directories

        with tempfile.TemporaryDirectory() as folder:
            save = vla_directories.save_smolvla if policy == "smolvla" else vla_directories.save_pi
            return save(Path(folder), *(() if policy == "smolvla" else (policy,)))
    return fill(_smolvla(cameras) if policy == "smolvla" else _pi(policy, cameras, layers)).eval()


def fill(built: Any) -> Any:
    """Gives a policy random weights at a scale that lets every layer count, and returns it."""
    import torch

    torch.manual_seed(0)
    for name, weight in built.named_parameters():
        if weight.ndim > 1:
            weight.data.normal_(0.0, weight.shape[-1] ** -0.5)
        elif name.endswith("weight") and "gemma" not in name:
            weight.data.normal_(1.0, 0.1)
        else:
            weight.data.normal_(0.0, 0.1)
    return built


def _smolvla(cameras: int) -> Any:
    from tendon.policies.export.lerobot.packages import lerobot_module
    from tendon.policies.export.networks.smolvla import local_files

    configuration: Any = lerobot_module("policies.smolvla.configuration_smolvla")
    modeling: Any = lerobot_module("policies.smolvla.modeling_smolvla")
    from transformers.models.smolvlm.configuration_smolvlm import SmolVLMConfig

    tokenizer = SimpleNamespace(fake_image_token_id=49189, global_image_token_id=49152)
    with local_files(SmolVLMConfig(**SMOLVLM2_500M), tokenizer):
        return modeling.SmolVLAPolicy(configuration.SmolVLAConfig(**_features(cameras, 480, 640))).float()


def _pi(policy: str, cameras: int, layers: int) -> Any:
    from tendon.policies.export.lerobot.packages import lerobot_module
    from tendon.policies.export.networks.pi import build_pi

    configuration: Any = lerobot_module(f"policies.{policy}.configuration_{policy}")
    modeling: Any = lerobot_module(f"policies.{policy}.modeling_{policy}")
    true_config = modeling.get_gemma_config

    def gemma_config(variant: str) -> Any:
        config = true_config(variant)
        config.depth = layers or config.depth
        return config

    modeling.get_gemma_config = gemma_config
    return build_pi(getattr(configuration, f"{policy.upper()}Config")(**_features(cameras, 224, 224)))


def _features(cameras: int, height: int, width: int) -> dict[str, Any]:
    from tendon.policies.export.lerobot.packages import lerobot_module

    types: Any = lerobot_module("configs.types")
    feature, kinds = types.PolicyFeature, types.FeatureType
    images = {f"observation.images.{k}": feature(kinds.VISUAL, (3, height, width)) for k in range(cameras)}
    return {
        "device": "cpu",
        "input_features": {**images, "observation.state": feature(kinds.STATE, (7,))},
        "output_features": {"action": feature(kinds.ACTION, (7,))},
    }


def make(policy: str, size: str, cameras: int, layers: int, repeats: int, folder: Path) -> dict[str, Any]:
    """Builds a policy, times it, writes its graphs, and what it was asked and answered, to a folder."""
    import torch

    from tendon.policies.export.cases import random_observations
    from tendon.policies.export.lerobot.pixels import Pixels
    from tendon.policies.export.lerobot.statistics import identity
    from tendon.policies.export.networks import pi, smolvla
    from tendon.policies.export.networks.vla import vla_cases
    from tendon.policies.export.onnx_graph import write_graph
    from tendon.policies.spec.manifest import CameraInput

    clock = Clock()
    source = build(policy, size, cameras, layers)
    found: dict[str, Any] = {"built": clock.lap("built")}
    found["parameters"] = sum(weight.numel() for weight in source.parameters())
    kind: Any = smolvla if policy == "smolvla" else pi
    shapes = {k: f.shape for k, f in source.config.image_features.items() if "empty_camera" not in k}
    views = {
        key: CameraInput(name=str(index), width=shape[2], height=shape[1])
        for index, (key, shape) in enumerate(shapes.items())
    }
    prompt = () if policy == "smolvla" else (policy,)
    context = kind.ContextGraph(source, views, [Pixels(identity(3)) for _ in views], *prompt).eval()
    denoise = kind.DenoiseGraph(source).eval()
    state = source.config.robot_state_feature.shape[0]
    case = vla_cases(context, source.config, random_observations(tuple(views.values()), state, count=1))[0]
    observed = [torch.from_numpy(np.array(case[name])) for name in context.inputs]
    x, now = torch.from_numpy(case["x"]), torch.from_numpy(case["time"])
    with torch.no_grad():
        batch = context.batch(observed[: len(views)])
        found["eager vision (1 image)"] = measured(lambda: _embed_image(source, batch), repeats)
        first: list[Any] = []
        found["eager prefix"] = measured(lambda: first.append(context.prefix(*observed)), repeats)
        mask, cache = first[-1][0], first[-1][-1]
        flat = (mask, cache) if policy == "smolvla" else (*first[-1][1], mask, cache)
        found["eager step"] = measured(lambda: source.model.denoise_step(*flat, x, now), repeats)
        answers = dict(zip(context.outputs, context(*observed), strict=True))
        wanted = {"velocity": source.model.denoise_step(*flat, x, now).numpy()}
        clock.lap("eager prefix and step")
        if repeats:
            wanted["chunk"] = context.chunk(observed, x).numpy()
            found["eager chunk"] = clock.lap("eager chunk")
        given: dict[str, Any] = {name: case[name] for name in (*context.inputs, "x", "time")}
        np.savez(folder / INPUTS, **given)
        np.savez(folder / SOURCE, steps=context.steps, **wanted)
    found["eager peak_gib"] = peak_gib()
    clock.lap("kept")
    inner = {"x": x, "time": now, **answers}
    patched = smolvla.concatenated_rope if policy == "smolvla" else pi.nullcontext
    with patched():
        for name, module, inputs, outputs in (
            ("context.onnx", context, dict(zip(context.inputs, observed, strict=True)), context.outputs),
            ("denoise.onnx", denoise, inner, ("velocity",)),
        ):
            files = write_graph(folder / name, module, inputs, outputs)
            found[f"{name} export"] = clock.lap(f"{name} export")
            found[f"{name} gib"] = sum(file.stat().st_size for file in files) / GIB
    found["context tensors MiB"] = sum(t.numel() * t.element_size() for t in answers.values()) / 2**20
    found["export peak_gib"] = peak_gib()
    return found


def _embed_image(source: Any, batch: Mapping[str, Any]) -> Any:
    if source.config.type == "smolvla":
        return source.model.vlm_with_expert.embed_image(source.prepare_images(dict(batch))[0][0])
    return source.model.paligemma_with_expert.embed_image(source._preprocess_images(dict(batch))[0][0])


def run(repeats: int, engine: str, folder: Path) -> dict[str, Any]:
    """Times the graphs in a folder and compares them with the source's answers. No torch in this process."""
    clock = Clock()
    context, denoise = (_load(folder, name, engine) for name in ("context.onnx", "denoise.onnx"))
    found: dict[str, Any] = {"loaded": clock.lap("loaded"), "loaded peak_gib": peak_gib()}
    with np.load(folder / INPUTS) as inputs, np.load(folder / SOURCE) as source:
        given, wanted = dict(inputs), dict(source)
    noisy = {name: given.pop(name) for name in ("x", "time")}
    first: list[Any] = []
    found["graph context"] = measured(lambda: first.append(context(given)), repeats)
    known = first[-1]
    found["graph step"] = measured(lambda: denoise({**noisy, **known}), repeats)
    found["velocity"] = _difference(denoise({**noisy, **known})["velocity"], wanted["velocity"])
    clock.lap("context and step")
    if "chunk" in wanted:
        known, x, steps = context(given), noisy["x"], int(wanted["steps"])
        for index in range(steps):
            now = np.array([1.0 - index / steps], np.float32)
            x = x - denoise({"x": x, "time": now, **known})["velocity"] / np.float32(steps)
        found["graph chunk"] = clock.lap("chunk")
        found["chunk"] = _difference(x, wanted["chunk"])
    found["peak_gib"] = peak_gib()
    return found


def _load(folder: Path, name: str, engine: str) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    if engine != "cpu":
        from tendon.policies.engines.loading import Engine, load_graph

        content = {path.name: path.read_bytes() for path in folder.glob("*.onnx*")}
        return load_graph(content, name, Engine.parse(engine), THREADS).run
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = THREADS
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    session = onnxruntime.InferenceSession(folder / name, options, providers=["CPUExecutionProvider"])
    names = [value.name for value in session.get_outputs()]
    return lambda feeds: dict(zip(names, session.run(names, dict(feeds)), strict=True))


def _difference(found: Any, wanted: Any) -> dict[str, float]:
    from tendon.policies.parity.graph import difference

    return dict(zip(("max_abs", "cosine", "relative"), difference(wanted, found), strict=True))


def main() -> None:
    """Runs the stages and prints what they found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--policy", choices=POLICIES, default="smolvla", help="(%(default)s)")
    parser.add_argument("--size", choices=("tiny", "true"), default="tiny", help="of the network (%(default)s)")
    parser.add_argument("--cameras", type=int, default=2, help="(%(default)s)")
    parser.add_argument("--layers", type=int, default=0, help="of pi0 and pi0.5 at true size; 0 for all 18")
    parser.add_argument("--repeats", type=int, default=3, help="of each call (%(default)s)")
    parser.add_argument("--engine", default="cpu", help="what runs the graphs, see `tendon.policies.engines.engine`")
    parser.add_argument("--folder", type=Path, help="where the graphs go, and stay")
    parser.add_argument("--stage", choices=("make", "run"), help=argparse.SUPPRESS)
    harness.add_arguments(parser)
    given = parser.parse_args()
    if given.stage == "make":
        print(json.dumps(make(given.policy, given.size, given.cameras, given.layers, given.repeats, given.folder)))
    elif given.stage == "run":
        print(json.dumps(run(given.repeats, given.engine, given.folder)))
    else:
        bench = harness.begin(given, "lerobot/vla")
        with tempfile.TemporaryDirectory() as scratch:
            folder = given.folder or Path(scratch)
            folder.mkdir(parents=True, exist_ok=True)
            print(f"{given.policy}, {given.size} size, {given.cameras} cameras, engine {given.engine}", flush=True)
            policy, everything = f"{given.policy}, {given.size} size", dict[str, Any]()
            for stage in ("make", "run"):
                found = _stage(stage, folder)
                _print(found)
                _add(bench, policy, given.engine, found)
                everything |= found
            if "eager chunk" in everything and "graph chunk" in everything:
                gain = Number(everything["eager chunk"][0] / everything["graph chunk"][0])
                case = {"policy": policy, "who": given.engine, "what": "gain of a chunk over eager"}
                bench.add(case, {"ratio": gain})


def _stage(stage: str, folder: Path) -> dict[str, Any]:
    command = [sys.executable, __file__, *sys.argv[1:], "--stage", stage, "--folder", str(folder)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemExit(f"stage {stage} ended with {done.returncode}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def _add(bench: harness.Bench, policy: str, engine: str, found: Mapping[str, Any]) -> None:
    for name, value in found.items():
        what = name.replace("peak_gib", "peak of memory").removesuffix(" gib").removesuffix(" MiB").strip()
        values: dict[str, harness.Value] = {}
        if isinstance(value, list):
            values = {"wall": Number(value[0], "s"), "CPU": Number(value[1], "s")}
        elif isinstance(value, dict):
            values = {key.replace("_", " "): Number(number) for key, number in value.items()}
        elif "gib" in name.lower() or "MiB" in name:
            values = {"memory or size": Number(value, "MiB" if "MiB" in name else "GiB")}
        else:
            values = {"count": Number(value)}
        # What LeRobot did is the same whatever runs the graphs.
        who = "LeRobot" if "eager" in name or name == "built" else "export" if "export" in name else engine
        bench.add({"policy": policy, "who": who, "what": what}, values)


def _print(found: Mapping[str, Any]) -> None:
    for name, value in found.items():
        if isinstance(value, list):
            print(f"{name:28s} {value[0]:9.3f} s wall  {value[1]:9.3f} s CPU")
        elif isinstance(value, dict):
            print(f"{name:28s} " + "  ".join(f"{key} {number:.3g}" for key, number in value.items()))
        else:
            print(f"{name:28s} {value:,.3f}" if isinstance(value, float) else f"{name:28s} {value:,}")


if __name__ == "__main__":
    main()

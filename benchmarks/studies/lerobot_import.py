"""Policies of LeRobot with random weights at true size, imported as a user does it, then one inference.

It needs LeRobot (`make setup-lerobot`). All settings are LeRobot's defaults, with two cameras and a robot of six
joints: ACT has 52 M parameters, Diffusion Policy 271 M and 100 steps of DDPM, SmolVLA 450 M. Saving, `tendon policy
import` and running have a process each, so that each has its own peak of memory.

Other load on the machine slows wall time, and hardly CPU time: both are printed.

Example:
  python benchmarks/studies/lerobot_import.py --policy diffusion --pixels 224 --engine openvino
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # benchmarks

import harness
import numpy as np
from harness import Number

POLICIES = ("act", "diffusion", "smolvla")
CLASSES = {"act": "ACT", "diffusion": "Diffusion", "smolvla": "SmolVLA"}
CAMERAS = ("front", "wrist")
JOINTS, GIB = 6, 2**30
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))


def save(policy: str, pixels: int, folder: Path) -> None:
    """Saves a policy and its processors as LeRobot does, and the profile of its robot."""
    import torch

    from tendon.policies.export.lerobot.packages import lerobot_module
    from tests.policies.export.lerobot.so101 import write_so101
    from tests.policies.export.lerobot.vla.vla_directories import save_processors

    torch.manual_seed(0)
    types: Any = lerobot_module("configs.types")
    feature, kinds = types.PolicyFeature, types.FeatureType
    keys = [f"observation.images.{name}" for name in CAMERAS]
    configuration: Any = lerobot_module(f"policies.{policy}.configuration_{policy}")
    config = getattr(configuration, f"{CLASSES[policy]}Config")(
        input_features={
            **{key: feature(kinds.VISUAL, (3, pixels, pixels)) for key in keys},
            "observation.state": feature(kinds.STATE, (JOINTS,)),
        },
        output_features={"action": feature(kinds.ACTION, (JOINTS,))},
        device="cpu",
        **({} if policy == "smolvla" else {"pretrained_backbone_weights": None}),
    )
    processors: Any = lerobot_module(f"policies.{policy}.processor_{policy}")
    make = getattr(processors, f"make_{policy}_pre_post_processors")
    shapes = {"observation.state": (JOINTS,), "action": (JOINTS,), **dict.fromkeys(keys, (3, 1, 1))}
    numbers = {
        key: {"mean": torch.zeros(shape), "std": torch.ones(shape), "min": -torch.ones(shape), "max": torch.ones(shape)}
        for key, shape in shapes.items()
    }
    directory = folder / "pretrained_model"
    if policy == "smolvla":
        built, tokenizer = _smolvla(config, directory)
        save_processors(directory, make, config, tokenizer, numbers)
    else:
        modeling: Any = lerobot_module(f"policies.{policy}.modeling_{policy}")
        built = getattr(modeling, f"{CLASSES[policy]}Policy")(config)
        for each in make(config, numbers):
            each.save_pretrained(directory)
    built.save_pretrained(directory)
    write_so101(folder / "robot", CAMERAS, pixels, pixels)
    print(f"{sum(weight.numel() for weight in built.parameters()) / 1e6:.1f} M parameters")


def _smolvla(config: Any, directory: Path) -> tuple[Any, Any]:
    """Returns policy and tokenizer; the language model's files are saved: its true configuration, a small tokenizer."""
    from studies.vla_export import SMOLVLM2_500M, fill
    from transformers.models.smolvlm.configuration_smolvlm import SmolVLMConfig

    from tendon.policies.export.lerobot.packages import lerobot_module
    from tendon.policies.export.networks.smolvla import local_files
    from tests.policies.export.lerobot.vla.vla_directories import save_tokenizer

    tokenizer, vlm = save_tokenizer(directory / "vlm", "smolvla"), SmolVLMConfig(**SMOLVLM2_500M)
    vlm.save_pretrained(directory / "vlm")
    config.vlm_model_name = str(directory / "vlm")
    modeling: Any = lerobot_module("policies.smolvla.modeling_smolvla")
    with local_files(vlm, tokenizer):
        return fill(modeling.SmolVLAPolicy(config).float()), tokenizer


def run(engine: str, repeats: int, folder: Path) -> None:
    """Loads the bundle and infers from black images; no torch in this process. The last line is the times as JSON."""
    from tendon.policies.bundle.bundle import load_bundle
    from tendon.policies.engines.loading import Engine
    from tendon.policies.inference.policy import BundlePolicy
    from tendon.robots.profile import load_profile

    begin = time.perf_counter(), time.process_time()
    bundle = load_bundle(folder / "bundle")
    policy = BundlePolicy(bundle, load_profile(folder / "robot" / "profile.yaml"), Engine.parse(engine))
    found: dict[str, tuple[float, float | None]] = {"bundle loaded": _tell("bundle loaded", begin)}
    begin = time.perf_counter(), time.process_time()
    policy.warm_up(1)
    found["first inference"] = _tell("first inference", begin)
    wall, cpu = [], []
    for _ in range(repeats):
        begin = time.perf_counter(), time.process_time()
        policy.warm_up(1)
        wall.append(time.perf_counter() - begin[0])
        cpu.append(time.process_time() - begin[1])
    middle, most, cpu_s = float(np.median(wall)), max(wall), float(np.median(cpu))
    print(f"{repeats} inferences: p50 {middle:.3f}, max {most:.3f} s wall, p50 {cpu_s:.3f} s CPU")
    found |= {"later inferences, p50": (middle, cpu_s), "later inferences, max": (most, None)}
    print(json.dumps(found))


def _tell(what: str, begin: tuple[float, float]) -> tuple[float, float]:
    wall_s, cpu_s = time.perf_counter() - begin[0], time.process_time() - begin[1]
    print(f"{what}: {wall_s:.2f} s wall, {cpu_s:.2f} s CPU")
    return wall_s, cpu_s


def measured(bench: harness.Bench, case: dict[str, str], command: list[str], told: bool = False) -> str:
    """Runs a command, prints and adds what it took; returns what it said where that is `told`, else lets it through."""
    what = case["what"]
    begin_s = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE if told else None, text=True)
    said = process.stdout.read() if process.stdout is not None else ""
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    wall_s, cpu_s = time.perf_counter() - begin_s, used.ru_utime + used.ru_stime
    print(f"== {what}: {wall_s:.1f} s wall, {cpu_s:.1f} s CPU, peak {used.ru_maxrss * 1024 / GIB:.2f} GiB", flush=True)
    if status:
        raise SystemExit(f"{what} failed")
    peak = Number(used.ru_maxrss * 1024 / GIB, "GiB")
    bench.add(case, {"wall": Number(wall_s, "s"), "CPU": Number(cpu_s, "s"), "peak": peak})
    return said


def main() -> None:
    """Saves, imports and runs a policy, each in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--policy", choices=POLICIES, default="act")
    parser.add_argument("--pixels", type=int, default=224, help="height and width of an image (%(default)s)")
    parser.add_argument("--repeats", type=int, default=5, help="inferences (%(default)s)")
    parser.add_argument("--engine", default="cpu", help="what runs the bundle, see `tendon.policies.engines.engine`")
    parser.add_argument("--folder", type=Path, help="where directory and bundle go, and stay; new or empty")
    parser.add_argument("--stage", choices=("save", "run"), help=argparse.SUPPRESS)
    harness.add_arguments(parser)
    given = parser.parse_args()
    if given.stage == "save":
        save(given.policy, given.pixels, given.folder)
    elif given.stage == "run":
        run(given.engine, given.repeats, given.folder)
    else:
        bench = harness.begin(given, "lerobot/import")
        with tempfile.TemporaryDirectory() as scratch:
            folder = given.folder or Path(scratch)
            print(f"{given.policy}, 2 cameras of {given.pixels} px, engine {given.engine}")
            stage = [sys.executable, __file__, *sys.argv[1:], "--folder", str(folder), "--stage"]
            cameras = [text for name in CAMERAS for text in ("--camera", f"{name}={name}")]
            where = [
                str(folder / "pretrained_model"),
                str(folder / "bundle"),
                "--robot",
                f"{folder}/robot/profile.yaml",
            ]
            case = {"policy": given.policy, "engine": given.engine}
            importing = [sys.executable, "-m", "tendon.cli", "policy", "import", *where, *cameras, "--rate", "30"]
            measured(bench, {**case, "what": "LeRobot saves it"}, [*stage, "save"])
            measured(bench, {**case, "what": "tendon policy import"}, importing)
            size = sum(path.stat().st_size for path in (folder / "bundle").rglob("*") if path.is_file()) / 1e6
            bench.add({**case, "what": "bundle"}, {"size": Number(size, "MB")})
            said = measured(bench, {**case, "what": "process that runs it"}, [*stage, "run"], told=True)
            *lines, times = said.splitlines()
            print("\n".join(lines))
            for what, (wall_s, cpu_s) in json.loads(times).items():
                spent = {} if cpu_s is None else {"CPU": Number(cpu_s, "s")}
                bench.add({**case, "what": what}, {"wall": Number(wall_s, "s"), **spent})


if __name__ == "__main__":
    main()

"""Policy x engine x precision: time, rate, size, memory and parity, against the same network in torch, in one run.

Policies are the shipped one, and ACT and Diffusion Policy of LeRobot at their default size with random weights
(`random_policies.py`). In turns, in one process: engines from raw images and normalised state to the normalised chunk,
and torch, eager and compiled, with the same tensors and as many threads; other load on the machine hits all alike. Then
each engine alone, in a process of its own: from observation to joint-space chunk (`BundlePolicy.infer`), memory, time
of all cores together (CPU), and parity. CUDA and TensorRT get rows, and torch a second device, where they are.

`--prepare` exports, makes the variants and fills torch's compile cache, all of which stays in --folder: do that first,
and measure when nothing else runs. Needs LeRobot (`make setup-lerobot`); without it, `--policy tabletop`, which needs
torch only.

Examples:
  python benchmarks/engines.py --prepare
  python benchmarks/engines.py --policy tabletop --policy act --seconds 5
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import harness
import numpy as np
from harness import Number
from harness.pages import value_text
from networks.random_policies import FOLDER, bundle_of
from networks.torch_policies import Chunk, Modules, lerobot_whole, own_modules, torch_policy

from tendon.core.errors import TendonError
from tendon.policies.adapter.matching import expected_inputs
from tendon.policies.bundle.bundle import Bundle, load_bundle
from tendon.policies.engines.bench import Failed, Job, Measured, engines_here, made_up, measure
from tendon.policies.engines.engine import Engine
from tendon.policies.inference.model import PolicyModel
from tendon.policies.inference.policy import BundlePolicy
from tendon.policies.inference.recorder import Recorder
from tendon.policies.parity.graph import CASES_FILE, Case, read_cases
from tendon.policies.spec.prefix import Prefix
from tendon.robots.profile import load_profile

TABLETOP = Path(__file__).resolve().parents[1] / "bundles" / "tabletop"
VARIANTS = {
    "tabletop": ("fp16", "int8", "int8-dynamic"),
    "act": ("fp16", "int8", "int8-dynamic"),
    "diffusion": ("fp16", "int8-dynamic"),
}
CALIBRATION = 16
MIN_RUNS = 10
WARM_UP = 2
REST_S = 0.003
CASE = ("policy", "graphs in", "engine")
COLUMNS = (
    "in turns, p50",
    "in turns, p99",
    "eager / this",
    "compiled / this",
    "alone, p50",
    "alone, p99",
    "rate",
    "CPU of all cores",
    "size",
    "memory",
    "parity (bound)",
)


@dataclass(frozen=True, kw_only=True)
class Policy:
    """What is measured.

    Attributes:
        name: one of `VARIANTS`.
        bundle: its folder.
        profile: of the robot.
        source: LeRobot's directory; `None` for a policy of our own.
        variants: folder of its variants.
    """

    name: str
    bundle: Path
    profile: str
    source: Path | None
    variants: Path


def policy_of(name: str, folder: Path) -> Policy:
    """Returns a policy; exports it if that was not done before."""
    if name == "tabletop":
        return Policy(name=name, bundle=TABLETOP, profile="panda", source=None, variants=folder / name)
    source, bundle, profile = bundle_of(name, folder)
    return Policy(name=name, bundle=bundle, profile=str(profile), source=source, variants=folder / name)


def prepare(policy: Policy) -> None:
    """Makes variants; one that is refused leaves a file with the reason."""
    from tendon.policies.export.convert.variant import make_variant

    bundle = load_bundle(policy.bundle)
    recorded: Sequence[Case] = ()
    for precision in VARIANTS[policy.name]:
        out, refusal = policy.variants / precision, policy.variants / f"{precision}.refused"
        if (out / "bundle.yaml").is_file() or refusal.is_file():
            continue
        recorded = recorded or recorded_inputs(policy)
        begin_s = time.monotonic()
        try:
            make_variant(bundle, out, precision, recorded)
        except TendonError as error:
            refusal.parent.mkdir(parents=True, exist_ok=True)
            refusal.write_text(str(error), encoding="utf-8")
        print(f"{policy.name} {precision}: {time.monotonic() - begin_s:.0f} s", flush=True)


def recorded_inputs(policy: Policy) -> Sequence[Case]:
    """Returns what calibrates int8: inputs of episodes, or noise for a policy that was never trained."""
    if policy.source is None:
        from tendon.evaluation.recorded_inputs import record_inputs

        episodes = record_inputs(policy.bundle, "panda", range(100_000, 100_006), CALIBRATION)
        return [case for _, cases in episodes for case in cases]
    bundle, profile, recorder = load_bundle(policy.bundle), load_profile(policy.profile), Recorder()
    running = BundlePolicy(bundle, profile, Engine("cpu"), load=recorder.load)
    for seed in range(CALIBRATION):
        running.infer(made_up(bundle.manifest, profile, seed))
    return recorder.take(CALIBRATION)


def in_turns(policy: Policy, bundles: Mapping[str, Path], how: Mapping[str, Any]) -> dict[str, list[float]]:
    """Runs `take_turns` in a process of its own; nothing when it dies."""
    cache = str(policy.variants.resolve() / "compiled")
    environment = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": cache, "OMP_NUM_THREADS": str(how["threads"])}
    plain = json.dumps({"policy": asdict(policy), "bundles": bundles, "how": how}, default=str)
    command = [sys.executable, __file__, "--turns", plain]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=environment)
    found: dict[str, list[float]] = json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else {}
    return found


def take_turns(policy: Policy, bundles: Mapping[str, Path], how: Mapping[str, Any]) -> dict[str, list[float]]:
    """Times torch and every engine, taking turns, so that other load on the machine hits all alike.

    Args:
        policy: what is measured.
        bundles: it and its variants by precision.
        how: seconds, threads, and whether torch compiles.

    Returns:
        p50, p99 [ms] and how many runs, by "torch eager cpu", "LeRobot cpu" (its whole way to actions), "fp32 openvino"
        and so on; "torch.compile cpu" has the time of its first call [s] too.
    """
    import torch

    torch.set_num_threads(how["threads"])
    calls: dict[str, Callable[[], object]] = {}
    first_s: dict[str, float] = {}
    plain = load_bundle(policy.bundle)
    for device in ("cpu", "cuda") if torch.cuda.is_available() else ("cpu",):
        modules, chunk = torch_policy(policy.name, plain, policy.source, device)
        calls[f"torch eager {device}"] = torch.inference_mode()(partial(chunk, modules))
        if how["compiled"]:
            calls[name := f"torch.compile {device}"], first_s[name] = compiled(policy, modules, chunk)
        if policy.source is not None and policy.name == "act":
            calls[f"LeRobot {device}"] = lerobot_whole(policy.source, device)
    feeds = observed(policy, plain)
    given = Prefix(rows=np.empty((0, len(plain.manifest.action.mean))), frozen=0)
    for precision, folder in bundles.items():
        bundle = load_bundle(folder)
        for engine in engines_here():
            if precision == "fp32" or engine.precision is None:
                try:
                    model = PolicyModel(bundle, engine, how["threads"])
                except TendonError as error:
                    print(f"{precision} {engine}: {error}", file=sys.stderr)
                    continue
                continuation = bundle.manifest.continuations[0]
                calls[f"{precision} {engine}"] = partial(model.answer, feeds, given, continuation)
    times_ms = turns(calls, how["seconds"])
    found = {name: [*np.percentile(times, [50, 99]).tolist(), len(times)] for name, times in times_ms.items()}
    for name, taken_s in first_s.items():
        found[name].append(taken_s)
    return found


def turns(calls: Mapping[str, Callable[[], object]], seconds: float) -> dict[str, list[float]]:
    """Returns times of each call [ms]: all of them in another order each time, the first two rounds left out."""
    times_ms: dict[str, list[float]] = {name: [] for name in calls}
    rng, begin_s, rounds = np.random.default_rng(0), time.monotonic(), 0
    while rounds < WARM_UP + MIN_RUNS or time.monotonic() - begin_s < seconds:
        for name in rng.permutation(list(calls)):
            time.sleep(REST_S)  # threads of the one before go to sleep
            begin_ns = time.perf_counter_ns()
            calls[name]()
            if rounds >= WARM_UP:
                times_ms[name].append((time.perf_counter_ns() - begin_ns) / 1e6)
        rounds += 1
    return times_ms


def compiled(policy: Policy, modules: Modules, chunk: Chunk) -> tuple[Callable[[], object], float]:
    """Returns what makes a chunk with compiled modules, and how long the first took [s].

    Where the compiler fails with its patterns, it compiles without.
    """
    import torch

    made = {name: torch.compile(module) for name, module in modules.items()}
    call = torch.no_grad()(partial(chunk, made))
    begin_s = time.monotonic()
    try:
        call()
    except torch._dynamo.exc.TorchDynamoException as error:
        print(f"{policy.name}: torch.compile fails, again without patterns: {error}"[:600], file=sys.stderr)
        torch._dynamo.reset()
        torch._inductor.config.pattern_matcher = False
        call()
    return call, time.monotonic() - begin_s


def observed(policy: Policy, bundle: Bundle) -> dict[str, Any]:
    """Returns what the graph that takes the observation is fed."""
    if policy.source is None:
        example = {name: value.numpy() for name, value in own_modules(bundle)[1].items()}
    else:
        example = dict(read_cases(bundle.content[CASES_FILE])[0])
    return {name: example[name] for name in expected_inputs(bundle.manifest) if not name.startswith("prefix")}


def bundles_of(policy: Policy) -> dict[str, Path]:
    """Returns the bundle and its variants by precision, without those that were refused."""
    made = {precision: policy.variants / precision for precision in VARIANTS[policy.name]}
    return {"fp32": policy.bundle} | {name: path for name, path in made.items() if (path / "bundle.yaml").is_file()}


def table(bench: harness.Bench, policy: Policy, how: Mapping[str, Any]) -> None:
    """Measures a policy, prints its rows as they come and adds them."""
    bundles = bundles_of(policy)
    together = in_turns(policy, bundles, how)
    for name, (p50, p99, *first_s) in ((name, times) for name, times in together.items() if "torch" in name):
        note = f"first call {first_s[1]:.0f} s" if len(first_s) > 1 else ""
        row(bench, (policy.name, "fp32", name), in_turns_values(p50, p99), note)
    for name, (p50, p99, *_) in ((name, times) for name, times in together.items() if name.startswith("LeRobot")):
        row(bench, (policy.name, "fp32", f"{name}, observation to actions"), in_turns_values(p50, p99))
    plain = Job(
        bundle=policy.bundle,
        engine=Engine("cpu"),
        robot=policy.profile,
        seconds=how["seconds"],
        threads=how["threads"],
    )
    for precision, folder in bundles.items():
        for engine in engines_here():
            if precision == "fp32" or engine.precision is None:
                alone = measure(replace(plain, bundle=folder, engine=engine))
                case = policy.name, precision, str(engine)
                if isinstance(alone, Failed):
                    print(f"| {' | '.join(case)} | {alone.reason}", flush=True)
                    continue
                row(bench, case, values_of(together, f"{precision} {engine}", alone))
    for precision in VARIANTS[policy.name]:
        if precision not in bundles:
            refused = (policy.variants / f"{precision}.refused").read_text("utf-8")
            print(f"| {policy.name} | {precision} | refused | {refused}", flush=True)


def in_turns_values(p50: float, p99: float) -> dict[str, harness.Value]:
    """Returns the values of torch."""
    return {"in turns, p50": Number(p50, "ms"), "in turns, p99": Number(p99, "ms")}


def values_of(together: Mapping[str, Sequence[float]], name: str, alone: Measured) -> dict[str, harness.Value]:
    """Returns the values of an engine."""
    device = "cuda" if alone.job.engine.provider in ("cuda", "tensorrt") else "cpu"
    values: dict[str, harness.Value] = {}
    if name in together:
        p50, p99, *_ = together[name]
        values = in_turns_values(p50, p99)
        for column, way in (("eager / this", "torch eager"), ("compiled / this", "torch.compile")):
            if (torch_name := f"{way} {device}") in together:
                values[column] = Number(together[torch_name][0] / p50)
    beyond = "" if alone.parity.passed else ", beyond"
    return values | {
        "alone, p50": Number(alone.whole.p50, "ms"),
        "alone, p99": Number(alone.whole.p99, "ms"),
        "rate": Number(alone.rate_hz, "Hz"),
        "CPU of all cores": Number(alone.cpu_ms, "ms"),
        "size": Number(alone.size_mb, "MB"),
        "memory": Number(alone.memory_mb, "MB"),
        "parity (bound)": f"{alone.parity.relative:.1e} ({alone.parity.bound:g}){beyond}",
    }


def row(bench: harness.Bench, case: tuple[str, ...], values: Mapping[str, harness.Value], note: str = "") -> None:
    """Prints a row of a Markdown table and adds it."""
    cells = [value_text(values[name]) if name in values else "" for name in COLUMNS]
    print("| " + " | ".join([*case, *cells, note]) + " |", flush=True)
    # A machine with a GPU has other cores too: its rows must not take the place of those of two cores.
    claim = "engines/gpu" if bench.machine["gpu"] else "engines/policies"
    bench.add(dict(zip(CASE, case, strict=True)), values, claim=claim, note=note)


def main() -> None:
    """Prepares, or prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--policy", action="append", choices=tuple(VARIANTS), help="may be repeated (all of them)")
    parser.add_argument("--seconds", type=float, default=5.0, help="of the turns, and of each alone (%(default)s)")
    parser.add_argument("--threads", type=int, default=2, help="CPU threads of one inference (%(default)s)")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where policies stay (%(default)s)")
    parser.add_argument("--prepare", action="store_true", help="make what is measured, and measure nothing")
    parser.add_argument("--eager", action="store_true", help="leave torch.compile out, which takes minutes")
    parser.add_argument("--turns", help=argparse.SUPPRESS)
    harness.add_arguments(parser)
    args = parser.parse_args()
    if args.turns:
        told = json.loads(args.turns)
        paths = {k: Path(v) for k, v in told["policy"].items() if k in ("bundle", "source", "variants") and v}
        policy = Policy(**{**told["policy"], **paths})
        print(json.dumps(take_turns(policy, {k: Path(v) for k, v in told["bundles"].items()}, told["how"])))
        return
    how = {"seconds": 0.0 if args.prepare else args.seconds, "threads": args.threads, "compiled": not args.eager}
    policies = [policy_of(name, args.folder) for name in args.policy or VARIANTS]
    for policy in policies:
        prepare(policy)
        if args.prepare and not args.eager:
            in_turns(policy, {}, how)
    if args.prepare:
        return
    bench = harness.begin(args, "engines/policies", "engines/gpu")
    print(f"{args.threads} threads")
    header = [*CASE, *COLUMNS, "note"]
    print(f"| {' | '.join(header)} |\n|{'---|' * len(header)}", flush=True)
    for policy in policies:
        table(bench, policy, how)


if __name__ == "__main__":
    main()

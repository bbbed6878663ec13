"""Every row that needs an NVIDIA GPU, in one run: engines, IO binding, CUDA graphs, TensorRT's cache.

Three tables. Policies: a bundle from observation to joint-space chunk on each engine that this onnxruntime has, the
CPU first, with parity (`tendon.policies.engines.bench`). Ways: the graph that sees alone, from arrays in host memory
to arrays in host memory, by `run`, with outputs bound, with inputs and outputs in buffers on the device, and as a
CUDA graph; each is compared with `run`. Cache: how long TensorRT takes to build an engine, and the next start with
what it kept. Each engine is in a process of its own: what dies is a line, not the end.

Exit code 0 when every engine gave its numbers, 1 when one did not (its reason is printed), 3 without a GPU or without
an onnxruntime for it: nothing is measured then. `--rehearse` goes the same way on the CPU and writes no rows.

Examples:
  make setup-dev RUNTIME=gpu && .venv/bin/python benchmarks/gpu.py
  python benchmarks/gpu.py --bundle outputs/bundles/act --bundle bundles/tabletop --seconds 10
  python benchmarks/gpu.py --engine cpu --engine cuda --engine cuda:tf32      # TensorRT is not installed
  python benchmarks/gpu.py --rehearse --seconds 0.2
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import harness
import numpy as np
import onnxruntime
from harness import Number

from tendon.policies.bundle.bundle import Bundle, load_bundle
from tendon.policies.engines.bench import Failed, Job, Measured, engines_here, made_up, measure
from tendon.policies.engines.engine import Engine, install_runtime
from tendon.policies.engines.graph import Tensor
from tendon.policies.engines.ort_graph import OrtGraph, provider_options
from tendon.policies.inference.policy import BundlePolicy
from tendon.policies.inference.recorder import Recorder
from tendon.policies.parity.graph import difference
from tendon.robots.profile import load_profile

TABLETOP = Path(__file__).resolve().parents[1] / "bundles" / "tabletop"
EXIT_FAILED, EXIT_NO_GPU = 1, 3
CLAIMS = ("gpu/policies", "gpu/ways", "gpu/cache")
MIN_RUNS, WARM_UP, THREADS = 20, 5, 2
GRAPH_OPTIONS = {"cuda": "enable_cuda_graph", "tensorrt": "trt_cuda_graph_enable"}
"""Of the providers that can record a run as a CUDA graph and play it again."""
Feeds = Mapping[str, Tensor]
Run = Callable[[Feeds], dict[str, Tensor]]


def why_not() -> str:
    """Returns why nothing can be measured here, "" when it can."""
    try:
        found = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, timeout=30.0)
    except (OSError, subprocess.SubprocessError):
        found = None
    if found is None or found.returncode or "GPU " not in found.stdout:
        said = "" if found is None else " ".join((found.stdout + found.stderr).split())[:200]
        return f"no NVIDIA GPU: nvidia-smi {f'says: {said}' if said else 'is missing'}"
    if "CUDAExecutionProvider" not in onnxruntime.get_available_providers():
        return f"this onnxruntime is for the CPU: {install_runtime('gpu')}"
    return ""


def feeds_of(bundle: Bundle, robot: str | None, names: Collection[str]) -> list[dict[str, Tensor]]:
    """Returns what these inputs are fed for two made-up observations."""
    profile, recorder = load_profile(robot or bundle.manifest.robot), Recorder()
    policy = BundlePolicy(bundle, profile, Engine("cpu"), THREADS, load=recorder.load)
    for seed in range(2):
        policy.infer(made_up(bundle.manifest, profile, seed))
    return [{name: np.ascontiguousarray(case[name]) for name in names} for case in recorder.take(2)]


def session(bundle: Bundle, engine: Engine, cuda_graph: bool = False) -> onnxruntime.InferenceSession:
    """Returns the graph that sees, alone, with the options that Tendon uses; as a CUDA graph if it is to be one."""
    OrtGraph(bundle.content, bundle.manifest.model, engine, THREADS)  # loads the libraries, and refuses a fallback
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = THREADS
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3
    providers = provider_options(engine, bundle.content, [bundle.manifest.model])
    if cuda_graph:
        providers[0] = (providers[0][0], {**providers[0][1], GRAPH_OPTIONS[engine.provider]: "1"})
    return onnxruntime.InferenceSession(
        bundle.content[bundle.manifest.model], options, providers=providers, enable_fallback=0
    )


def plain(ort: onnxruntime.InferenceSession) -> Run:
    """Returns `run` of onnxruntime, arrays in and out."""
    names = [each.name for each in ort.get_outputs()]
    return lambda feeds: dict(zip(names, ort.run(None, feeds), strict=True))


def outputs_bound(ort: onnxruntime.InferenceSession, device: str) -> Run:
    """Returns a run whose outputs are left on the device until all are done, as Tendon runs it."""
    names = [each.name for each in ort.get_outputs()]

    def run(feeds: Feeds) -> dict[str, Tensor]:
        binding = ort.io_binding()
        for name, value in feeds.items():
            binding.bind_cpu_input(name, value)
        for name in names:
            binding.bind_output(name, device)
        ort.run_with_iobinding(binding)
        return dict(zip(names, (value.numpy() for value in binding.get_outputs()), strict=True))

    return run


def buffers_bound(ort: onnxruntime.InferenceSession, device: str, feeds: Feeds, answer: Mapping[str, Tensor]) -> Run:
    """Returns a run in buffers on the device that stay where they are, which a CUDA graph needs; shapes are fixed."""
    make = onnxruntime.OrtValue.ortvalue_from_numpy
    inputs = {name: make(value, device, 0) for name, value in feeds.items()}
    outputs = {name: make(value, device, 0) for name, value in answer.items()}
    binding = ort.io_binding()
    for name, value in inputs.items():
        binding.bind_ortvalue_input(name, value)
    for name, value in outputs.items():
        binding.bind_ortvalue_output(name, value)

    def run(feeds: Feeds) -> dict[str, Tensor]:
        for name, value in feeds.items():
            inputs[name].update_inplace(value)
        ort.run_with_iobinding(binding)
        binding.synchronize_outputs()
        return {name: np.array(value.numpy()) for name, value in outputs.items()}

    return run


def ways(bundle: Bundle, engine: Engine, ort: onnxruntime.InferenceSession, feeds: Feeds) -> dict[str, Run]:
    """Returns the ways to run the graph on an engine; the first is what the others are compared with."""
    device = "cpu" if engine.provider == "cpu" else "cuda"
    answer = plain(ort)(feeds)
    found = {
        "run": plain(ort),
        "IO binding, outputs": outputs_bound(ort, device),
        "IO binding, buffers on the device": buffers_bound(ort, device, feeds, answer),
    }
    if engine.provider in GRAPH_OPTIONS:
        found["CUDA graph"] = buffers_bound(session(bundle, engine, cuda_graph=True), device, feeds, answer)
    return found


def time_ways(
    folder: Path, engine: Engine, robot: str | None, seconds: float
) -> dict[str, tuple[list[float], float] | str]:
    """Times each way in this process, in turns.

    Returns:
        [ms] and how far its answers are from those of `run`, or why there are none.
    """
    bundle = load_bundle(folder)
    ort = session(bundle, engine)
    feeds = feeds_of(bundle, robot, [each.name for each in ort.get_inputs()])
    runs = ways(bundle, engine, ort, feeds[0])
    wrong, failed = dict[str, float](), dict[str, str]()
    for name, run in runs.items():
        try:
            # another input in turn: a buffer that was not written would show
            wrong[name] = max(apart(runs["run"], run, feeds[k % 2]) for k in range(WARM_UP))
        except Exception as error:  # of one way, such as what a CUDA graph cannot record: the others are to be measured
            failed[name] = one_line(error)
    times_ms: dict[str, list[float]] = {name: [] for name in wrong}
    end_s = time.perf_counter() + seconds * len(times_ms)
    while time.perf_counter() < end_s or any(len(each) < MIN_RUNS for each in times_ms.values()):
        for name, times in times_ms.items():
            begin_ns = time.perf_counter_ns()
            runs[name](feeds[0])
            times.append((time.perf_counter_ns() - begin_ns) / 1e6)
    return {**{name: (times_ms[name], wrong[name]) for name in times_ms}, **failed}


def apart(first: Run, second: Run, feeds: Feeds) -> float:
    """Returns how far the answers of two ways are apart at most."""
    right, found = first(feeds), second(feeds)
    return max(difference(right[key], found[key])[0] for key in right)


def one_line(error: Exception) -> str:
    """Returns what an error says, in one line of some 300 characters."""
    return " ".join(str(error).split())[:300] or type(error).__name__


def load_seconds(folder: Path, engine: Engine, robot: str | None) -> float:
    """Returns how long a policy takes from its folder to its first answer [s]."""
    begin_s = time.perf_counter()
    bundle = load_bundle(folder)
    profile = load_profile(robot or bundle.manifest.robot)
    policy = BundlePolicy(bundle, profile, engine, THREADS)
    policy.infer(made_up(bundle.manifest, profile))
    return time.perf_counter() - begin_s


def alone(call: Callable[..., object], *arguments: object) -> tuple[object, str]:
    """Calls in a process of its own; returns what came, or why nothing did."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        try:
            return pool.submit(call, *arguments).result(), ""
        except BrokenProcessPool:
            return None, "its process died"
        except Exception as error:  # of one engine: the others are still to be measured
            return None, one_line(error)


class Report:
    """Prints each case, and adds it to the rows unless this is a rehearsal."""

    def __init__(self, bench: harness.Bench | None) -> None:
        self._bench = bench
        self.failed = 0

    def add(self, claim: str, case: Mapping[str, str], values: Mapping[str, harness.Value]) -> None:
        """Takes a case with its values."""
        said = ", ".join(
            f"{name} {value.value:.4g} {value.unit}".strip() if isinstance(value, Number) else f"{name} {value}"
            for name, value in values.items()
        )
        print(f"{' | '.join(case.values()):72s} {said}", flush=True)
        if self._bench is not None:
            self._bench.add(case, values, claim=claim)

    def fail(self, case: Mapping[str, str], reason: str) -> None:
        """Takes a case that gave nothing."""
        self.failed += 1
        print(f"{' | '.join(case.values()):72s} FAILED: {reason}", flush=True)


def report_policy(report: Report, name: str, job: Job) -> None:
    """One row of `gpu/policies`."""
    case = {"policy": name, "engine": str(job.engine)}
    found = measure(job)
    if isinstance(found, Failed):
        report.fail(case, found.reason)
        return
    report.add("gpu/policies", case, policy_values(found))


def policy_values(found: Measured) -> dict[str, harness.Value]:
    """Returns the columns of `gpu/policies`."""
    return {
        "p50": Number(found.whole.p50, "ms"),
        "p99": Number(found.whole.p99, "ms"),
        "graphs, p50": Number(found.graphs.p50, "ms"),
        "rate": Number(found.rate_hz, "Hz"),
        "CPU of all cores": Number(found.cpu_ms, "ms"),
        "load": Number(found.load_s, "s"),
        "parity": Number(found.parity.relative),
        "bound": Number(found.parity.bound),
    }


def report_ways(report: Report, name: str, job: Job) -> None:
    """The rows of `gpu/ways` on an engine."""
    found, reason = alone(time_ways, job.bundle, job.engine, job.robot, job.seconds)
    if not isinstance(found, dict):
        report.fail({"policy": name, "engine": str(job.engine), "way": "all"}, reason)
        return
    for way, measured in found.items():
        case = {"policy": name, "engine": str(job.engine), "way": way}
        if isinstance(measured, str):
            report.fail(case, measured)
            continue
        times_ms, wrong = measured
        report.add("gpu/ways", case, {**harness.spread_of(times_ms, "ms"), "differs from run": Number(wrong)})


def report_cache(report: Report, name: str, job: Job) -> None:
    """The rows of `gpu/cache`: the first start of all, and the next one."""
    folder = tempfile.mkdtemp(prefix="tendon-engines-")
    before = os.environ.get("XDG_CACHE_HOME")
    os.environ["XDG_CACHE_HOME"] = folder  # read by the processes that are started
    try:
        for start in ("nothing kept", "kept"):
            case = {"policy": name, "engine": str(job.engine), "cache": start}
            found, reason = alone(load_seconds, job.bundle, job.engine, job.robot)
            if not isinstance(found, float):
                report.fail(case, reason)
                return
            size = sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file()) / 1e6
            report.add("gpu/cache", case, {"to the first answer": Number(found, "s"), "size": Number(size, "MB")})
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.environ.pop("XDG_CACHE_HOME")
        if before is not None:
            os.environ["XDG_CACHE_HOME"] = before


def main() -> int:
    """Measures all, or says why nothing can be."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bundle", type=Path, action="append", help="may be repeated (bundles/tabletop)")
    parser.add_argument("--robot", help="profile; by default each bundle's")
    parser.add_argument("--engine", type=Engine.parse, action="append", help="may be repeated (all that are here)")
    parser.add_argument("--seconds", type=float, default=5.0, help="a way and an engine is timed (%(default)s)")
    parser.add_argument("--rehearse", action="store_true", help="the same on the CPU alone, without rows")
    harness.add_arguments(parser)
    args = parser.parse_args()
    if not args.rehearse and (reason := why_not()):
        print(f"nothing measured: {reason}", file=sys.stderr)
        return EXIT_NO_GPU
    report = Report(None if args.rehearse else harness.begin(args, *CLAIMS))
    engines = args.engine or [each for each in engines_here() if each.provider != "openvino"]
    if args.rehearse:
        engines = [Engine("cpu")]
    for folder in args.bundle or [TABLETOP]:
        name = load_bundle(folder).manifest.name
        for engine in engines:
            job = Job(bundle=folder, engine=engine, robot=args.robot, seconds=args.seconds, threads=THREADS)
            report_policy(report, name, job)
            report_ways(report, name, job)
            if engine.provider == "tensorrt" or args.rehearse:
                report_cache(report, name, job)
    if report.failed:
        print(f"{report.failed} gave no numbers, see above", file=sys.stderr)
    return EXIT_FAILED if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())

"""Cost of BundlePolicy beyond bare onnxruntime, and the delay that AsyncInference adds. Bound: 10 % (design.md).

Run: `python benchmarks/inference.py [bundles/tabletop] [--runs 300] [--seconds 10]`. Bare onnxruntime is the same graph
with the same session options and input sizes; the two take turns, so that other load on the machine hits both alike.
"""

from __future__ import annotations

import argparse
import os
import platform
import time
from collections.abc import Callable, Sequence

import numpy as np
import onnxruntime

from tendon.control.continuation import on_plan_tolerance
from tendon.core.clock import SteadyClock
from tendon.core.profile import RobotProfile, load_profile
from tendon.core.protocols import Policy
from tendon.core.types import ActionChunk, Image, Observation
from tendon.policies.bundle import Bundle, load_bundle
from tendon.policies.engine import Engine
from tendon.policies.inference import AsyncInference, DelayEstimator
from tendon.policies.matching import expected_inputs
from tendon.policies.ort_graph import provider_options
from tendon.policies.policy import BundlePolicy

FRAME_NS = 50_000_000
DTYPES = {"tensor(uint8)": np.uint8, "tensor(float)": np.float32, "tensor(int64)": np.int64}


def percentiles(name: str, times_ns: Sequence[int]) -> float:
    """Prints p50, p99 and max in ms and returns the median."""
    p50, p99, most = (float(v) / 1e6 for v in np.percentile(times_ns, [50, 99, 100]))
    print(f"{name:44s} p50 {p50:8.3f}  p99 {p99:8.3f}  max {most:8.3f} ms   n {len(times_ns)}")
    return p50


def timed(call: Callable[[], object]) -> int:
    """Returns how long a call takes [ns]."""
    begin_ns = time.perf_counter_ns()
    call()
    return time.perf_counter_ns() - begin_ns


def observe(policy: BundlePolicy, profile: RobotProfile, stamp_ns: int) -> Observation:
    """Returns noise seen from home under an instruction of the policy's own words."""
    rng = np.random.default_rng(stamp_ns)
    images = {
        camera.name: Image(
            stamp_ns=stamp_ns, pixels=rng.integers(0, 256, (camera.height, camera.width, 3), dtype=np.uint8)
        )
        for camera in policy.manifest.cameras
    }
    return Observation(
        stamp_ns=stamp_ns,
        joint_position=profile.vector("home"),
        joint_velocity=np.zeros(len(profile.joints)),
        images=images,
        instruction=" ".join(policy.manifest.instruction.vocabulary[2:8]),
    )


def bare_session(bundle: Bundle, engine: Engine, threads: int = 2) -> onnxruntime.InferenceSession:
    """Returns the bundle's graph in onnxruntime with the options that Tendon uses, and nothing around it."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    name = bundle.manifest.model
    providers = provider_options(engine, bundle.content, [name])
    return onnxruntime.InferenceSession(bundle.content[name], options, providers=providers)


def overhead(policy: BundlePolicy, bare: onnxruntime.InferenceSession, profile: RobotProfile, runs: int) -> None:
    """Times `infer` against the bare graph, which of the two goes first taking turns."""
    manifest = policy.manifest
    feeds = {
        name: np.zeros([int(length) for length in spec.shape if length], DTYPES[spec.type])
        for name, spec in expected_inputs(manifest).items()
    }
    observation = observe(policy, profile, 0)
    calls = {"bare": lambda: bare.run(None, feeds), "policy": lambda: policy.infer(observation)}
    times: dict[str, list[int]] = {"bare": [], "policy": [], "model": [], "joints": [], "rest": []}
    for k in range(runs):
        for name in ("bare", "policy") if k % 2 else ("policy", "bare"):
            times[name].append(timed(calls[name]))
        assert policy.last is not None
        times["model"].append(policy.last.model_ns)
        times["joints"].append(policy.last.kinematics_ns)
        times["rest"].append(policy.last.total_ns - policy.last.model_ns - policy.last.kinematics_ns)
    bare_ms = percentiles("onnxruntime alone", times["bare"])
    whole_ms = percentiles("BundlePolicy.infer", times["policy"])
    percentiles("  of it onnxruntime", times["model"])
    percentiles(f"  of it inverse kinematics of {manifest.action.rows} rows", times["joints"])
    rest_ms = percentiles("  of it checks, state, prefix, chunk", times["rest"])
    for what, added_ms in (("in all", whole_ms - bare_ms), ("without inverse kinematics", rest_ms)):
        print(
            f"overhead {what}: {added_ms:.3f} ms = {100 * added_ms / bare_ms:.1f} % of onnxruntime alone (bound 10 %)"
        )


def delay(policy: BundlePolicy, profile: RobotProfile, seconds: float) -> None:
    """Offers an observation every 50 ms and times stamp to published chunk, beside the inference itself."""
    clock = SteadyClock()
    arrived: list[int] = []
    added: list[int] = []
    offers: list[int] = []
    errors: list[Exception] = []

    def publish(chunk: ActionChunk, _: Policy) -> None:
        assert policy.last is not None
        arrived.append(clock.now_ns() - chunk.observation_stamp_ns)
        added.append(arrived[-1] - policy.last.total_ns)

    inference = AsyncInference(
        policy,
        clock,
        replan_steps=1,
        plan_window=lambda *_: None,
        tolerance=on_plan_tolerance(profile),
        publish=publish,
        on_error=errors.append,
        estimator=DelayEstimator(),
    )
    inference.start()
    start_ns = clock.now_ns()
    for k in range(round(seconds * 1e9 / FRAME_NS)):
        clock.sleep_until_ns(start_ns + k * FRAME_NS)
        observation = observe(policy, profile, clock.now_ns())
        # Stamped anew: making up the pixels is no part of the delay.
        observation = Observation(**{**vars(observation), "stamp_ns": clock.now_ns()})
        offers.append(timed(lambda o=observation: inference.offer(o)))  # type: ignore[misc]
    status = inference.status()
    inference.close()
    if errors:
        raise errors[0]
    percentiles("AsyncInference, stamp to published", arrived)
    percentiles("  beyond the inference itself", added)
    percentiles("  offer()", offers)
    estimate = "none" if status.delay_ns is None else f"{status.delay_ns / 1e6:.3f} ms"
    print(f"delay estimate (p95) {estimate}")
    step_ms = policy.manifest.action.step_ns / 1e6
    print(
        f"{status.replaced} of {status.offered} observations replaced by newer ones; one each {step_ms:.0f} ms is due"
    )


def main() -> None:
    """Prints the numbers of one bundle on this machine."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bundle", nargs="?", default="bundles/tabletop", help="folder with bundle.yaml (%(default)s)")
    parser.add_argument("--runs", type=int, default=300, help="of each of the two (%(default)s)")
    parser.add_argument("--seconds", type=float, default=10.0, help="of asynchronous inference (%(default)s)")
    options = parser.parse_args()
    bundle = load_bundle(options.bundle)
    profile = load_profile(bundle.manifest.robot)
    policy = BundlePolicy(bundle, profile)
    policy.warm_up()
    bare = bare_session(bundle, policy.engine)
    print(
        f"{platform.platform()}, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}, "
        f"Python {platform.python_version()}"
    )
    print(f"onnxruntime {onnxruntime.__version__} on {policy.engine}, bundle {bundle.manifest.name}")
    overhead(policy, bare, profile, options.runs)
    delay(policy, profile, options.seconds)


if __name__ == "__main__":
    main()

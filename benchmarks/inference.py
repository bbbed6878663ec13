"""Cost of BundlePolicy beyond bare onnxruntime, and the delay that AsyncInference adds. Bound: 10 % (design.md).

Bare onnxruntime is the same graph with the same session options and input sizes; the two take turns, so that other load
on the machine hits both alike.

Example:
  python benchmarks/inference.py bundles/tabletop --runs 300 --seconds 10
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence

import harness
import numpy as np
import onnxruntime
from harness import Number

from tendon.control.continuation import on_plan_tolerance
from tendon.core.clock import SteadyClock
from tendon.core.pace import Pace
from tendon.core.protocols import Policy
from tendon.core.types import ActionChunk, Image, Observation
from tendon.evaluation.timed_policy import TimedPolicy
from tendon.policies.adapter.matching import expected_inputs
from tendon.policies.bundle.bundle import Bundle, load_bundle
from tendon.policies.engines.engine import Engine
from tendon.policies.engines.ort_graph import provider_options
from tendon.policies.inference.asynchronous import AsyncInference
from tendon.policies.inference.delay import DelayEstimator
from tendon.policies.inference.policy import BundlePolicy
from tendon.policies.spec.manifest import InstructionInput
from tendon.robots.profile import RobotProfile, load_profile
from tendon.robots.rest import Rest

FRAME_NS = 50_000_000
DTYPES = {"tensor(uint8)": np.uint8, "tensor(float)": np.float32, "tensor(int64)": np.int64}


def percentiles(bench: harness.Bench, name: str, times_ns: Sequence[int]) -> float:
    """Prints p50, p99 and max in ms, adds them, and returns the median."""
    found = harness.spread_of(np.array(times_ns) / 1e6, "ms")
    numbers = "  ".join(f"{which} {number.value:8.3f}" for which, number in found.items())
    print(f"{name:44s} {numbers} ms   n {len(times_ns)}")
    bench.add({"what": name.strip()}, found)
    return found["p50"].value


def timed(call: Callable[[], object]) -> int:
    """Returns how long a call takes [ns]."""
    begin_ns = time.perf_counter_ns()
    call()
    return time.perf_counter_ns() - begin_ns


def observe(policy: BundlePolicy, profile: RobotProfile, stamp_ns: int) -> Observation:
    """Returns noise seen from home under an instruction of the policy's own words."""
    rng, words = np.random.default_rng(stamp_ns), policy.manifest.instruction
    assert isinstance(words, InstructionInput)
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
        instruction=" ".join(words.vocabulary[2:8]),
    )


def bare_session(bundle: Bundle, engine: Engine, threads: int = 2) -> onnxruntime.InferenceSession:
    """Returns the bundle's graph in onnxruntime with the options that Tendon uses, and nothing around it."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    name = bundle.manifest.model
    providers = provider_options(engine, bundle.content, [name])
    return onnxruntime.InferenceSession(bundle.content[name], options, providers=providers)


def overhead(
    bench: harness.Bench,
    policy: BundlePolicy,
    bare: onnxruntime.InferenceSession,
    profile: RobotProfile,
    runs: int,
) -> None:
    """Times `infer` against the bare graph, which of the two goes first taking turns."""
    manifest = policy.manifest
    shapes = {name: spec.shape for name, spec in expected_inputs(manifest).items()}
    # What the policy itself adds, such as noise, has a fixed shape in the graph.
    feeds = {
        given.name: np.zeros(
            [int(length) for length in shapes.get(given.name, given.shape) if length], DTYPES[given.type]
        )
        for given in bare.get_inputs()
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
    bare_ms = percentiles(bench, "onnxruntime alone", times["bare"])
    whole_ms = percentiles(bench, "BundlePolicy.infer", times["policy"])
    percentiles(bench, "  of it onnxruntime", times["model"])
    percentiles(bench, f"  of it inverse kinematics of {manifest.action.rows} rows", times["joints"])
    rest_ms = percentiles(bench, "  of it checks, state, prefix, chunk", times["rest"])
    for what, added_ms in (("in all", whole_ms - bare_ms), ("without inverse kinematics", rest_ms)):
        share = 100 * added_ms / bare_ms
        print(f"overhead {what}: {added_ms:.3f} ms = {share:.1f} % of onnxruntime alone (bound 10 %)")
        bench.add({"what": f"overhead {what}"}, {"p50": Number(added_ms, "ms"), "of bare": Number(share, "%")})


def delay(bench: harness.Bench, policy: BundlePolicy, profile: RobotProfile, seconds: float) -> None:
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
        TimedPolicy(policy, continues=True, rows=None, delay_ns=0, pace=Pace(replan_rows=1)),
        clock,
        plan_window=lambda *_: None,
        tolerance=on_plan_tolerance(profile),
        rest_speed=Rest(profile).speed,
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
    percentiles(bench, "AsyncInference, stamp to published", arrived)
    percentiles(bench, "AsyncInference, beyond the inference itself", added)
    percentiles(bench, "AsyncInference, offer()", offers)
    estimate = "none" if status.delay_ns is None else f"{status.delay_ns / 1e6:.3f} ms"
    print(f"delay estimate (p95) {estimate}")
    step_ms = policy.manifest.action.step_ns / 1e6
    print(
        f"{status.replaced} of {status.offered} observations replaced by newer ones; one each {step_ms:.0f} ms is due"
    )


def main() -> None:
    """Prints the numbers of one bundle on this machine."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle", nargs="?", default="bundles/tabletop", help="folder with bundle.yaml (%(default)s)")
    parser.add_argument("--runs", type=int, default=300, help="of each of the two (%(default)s)")
    parser.add_argument("--seconds", type=float, default=10.0, help="of asynchronous inference (%(default)s)")
    harness.add_arguments(parser)
    options = parser.parse_args()
    bench = harness.begin(options, "inference/parts")
    bundle = load_bundle(options.bundle)
    profile = load_profile(bundle.manifest.robot)
    policy = BundlePolicy(bundle, profile)
    policy.warm_up()
    bare = bare_session(bundle, policy.engine)
    print(f"onnxruntime {onnxruntime.__version__} on {policy.engine}, bundle {bundle.manifest.name}")
    overhead(bench, policy, bare, profile, options.runs)
    delay(bench, policy, profile, options.seconds)


if __name__ == "__main__":
    main()

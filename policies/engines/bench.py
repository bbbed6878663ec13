"""How fast a bundle is on an engine, how much memory it takes and how near its source it stays.

Each engine is measured in a process of its own: its memory is its own, and whatever goes wrong is a row of the table.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np

from tendon.core.types import Image, Observation
from tendon.policies.bundle.bundle import Bundle, load_bundle
from tendon.policies.engines.engine import ENGINES, Engine, installed
from tendon.policies.inference.policy import BundlePolicy
from tendon.policies.inference.recorder import Recorder
from tendon.policies.parity.bundle import compare_engines, repeat_parity
from tendon.policies.parity.graph import CASES_FILE
from tendon.policies.parity.receipt import RECEIPT_FILE
from tendon.policies.spec.manifest import InstructionInput, Manifest
from tendon.robots.profile import RobotProfile, load_profile

MIN_RUNS = 20
CASES = 4
"""Made-up inferences that engines are compared over, of a bundle that keeps none."""
WORTH = 0.9
"""What computes in less than float32 is recommended if it takes at most this part of the time."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """What to measure: a bundle on an engine.

    Attributes:
        bundle: its folder.
        engine: what runs its graphs.
        robot: profile; `None` for the bundle's.
        seconds: how long inferences are timed; at least `MIN_RUNS` are.
        threads: CPU threads of one.
    """

    bundle: Path
    engine: Engine
    robot: str | None = None
    seconds: float = 5.0
    threads: int = 2


@dataclass(frozen=True, kw_only=True)
class Spread:
    """Of times [ms]: median, 95th and 99th percentile."""

    p50: float
    p95: float
    p99: float


@dataclass(frozen=True, kw_only=True)
class Parity:
    """How far the worst output of an engine is off, for its bound.

    Attributes:
        relative: error of the output that is nearest to its bound, or furthest beyond it.
        bound: on it.
        source: whether the reference is the bundle's source, over the inferences that it keeps; or else what
            engine `cpu` answers, over made-up ones.
    """

    relative: float
    bound: float
    source: bool

    @property
    def passed(self) -> bool:
        """Whether it is within its bound."""
        return self.relative <= self.bound


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What was measured.

    Attributes:
        job: of what.
        runs: how many inferences were timed.
        whole: from observation to joint-space chunk, `BundlePolicy.infer`.
        graphs: of it the graphs, with the steps of a denoiser.
        rate_hz: inferences a second, one after the other.
        cpu_ms: CPU time of an inference, of all threads together: what is taken from everything else on the machine.
            Other load makes it little longer.
        load_s: from the folder to a policy that is warm.
        memory_mb: resident memory of the process: Python, the engine's libraries, the bundle. Not a GPU's own.
        size_mb: of the bundle's files.
        parity: of this engine here.
    """

    job: Job
    runs: int
    whole: Spread
    graphs: Spread
    rate_hz: float
    cpu_ms: float
    load_s: float
    memory_mb: float
    size_mb: float
    parity: Parity


@dataclass(frozen=True, kw_only=True)
class Failed:
    """Why there are no numbers."""

    job: Job
    reason: str


def engines_here() -> tuple[Engine, ...]:
    """Returns every engine whose library is installed; whether it starts is known when it is measured."""
    return tuple(engine for engine in map(Engine.parse, ENGINES) if installed(engine.provider))


def measure(job: Job) -> Measured | Failed:
    """Measures in a new process."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_send, args=(theirs, job), daemon=True)
    process.start()
    theirs.close()
    try:
        result: Measured | Failed = ours.recv()
    except EOFError:
        process.join()
        result = Failed(job=job, reason=_death(process.exitcode or 0))
    process.join()
    return result


def _send(connection: Connection, job: Job) -> None:
    try:
        connection.send(measure_here(job))
    except Exception as error:  # the top of a process: what goes wrong with this engine must not end the others
        connection.send(Failed(job=job, reason=" ".join(str(error).split()) or type(error).__name__))


def _death(code: int) -> str:
    how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
    return f"its process {how}" + ("; was memory short?" if code == -signal.SIGKILL else "")


def measure_here(job: Job) -> Measured:
    """Measures in this process.

    Raises:
        TendonError: the bundle is refused or does not fit the robot, or the engine does not start.
    """
    begin_s = time.perf_counter()
    bundle = load_bundle(job.bundle)
    profile = load_profile(job.robot or bundle.manifest.robot)
    policy = BundlePolicy(bundle, profile, job.engine, job.threads)
    policy.warm_up()
    load_s = time.perf_counter() - begin_s

    observation = made_up(bundle.manifest, profile)
    whole: list[int] = []
    graphs: list[int] = []
    begin_s, begin_cpu_s = time.perf_counter(), time.process_time()
    while len(whole) < MIN_RUNS or time.perf_counter() - begin_s < job.seconds:
        observation = replace(observation, stamp_ns=observation.stamp_ns + policy.step_ns)
        policy.infer(observation)
        assert policy.last is not None
        whole.append(policy.last.total_ns)
        graphs.append(policy.last.model_ns)
    cpu_ms = 1e3 * (time.process_time() - begin_cpu_s) / len(whole)
    memory_mb = _resident_mb()  # before parity loads more
    return Measured(
        job=job,
        runs=len(whole),
        whole=_spread(whole),
        graphs=_spread(graphs),
        rate_hz=1e9 * len(whole) / sum(whole),
        cpu_ms=cpu_ms,
        load_s=load_s,
        memory_mb=memory_mb,
        size_mb=sum(map(len, bundle.content.values())) / 1e6,
        parity=_parity(bundle, profile, job),
    )


def made_up(manifest: Manifest, profile: RobotProfile, seed: int = 0) -> Observation:
    """Returns noise seen from home, with an instruction of the policy's own words."""
    rng = np.random.default_rng(seed)
    images = {
        camera.name: Image(stamp_ns=0, pixels=rng.integers(0, 256, (camera.height, camera.width, 3), dtype=np.uint8))
        for camera in manifest.cameras
    }
    reads = manifest.instruction
    words = (
        reads.vocabulary[2:][: reads.tokens] if isinstance(reads, InstructionInput) else ("pick", "up", "the", "cube")
    )
    home = profile.vector("home")
    rest = np.zeros_like(home)
    instruction = " ".join(words) if reads is not None else ""
    return Observation(stamp_ns=0, joint_position=home, joint_velocity=rest, images=images, instruction=instruction)


def _parity(bundle: Bundle, profile: RobotProfile, job: Job) -> Parity:
    source = CASES_FILE in bundle.content and RECEIPT_FILE in bundle.content
    if source:
        rows = repeat_parity(bundle, job.engine, job.threads).rows
    else:
        recorder = Recorder()
        policy = BundlePolicy(bundle, profile, Engine("cpu"), job.threads, load=recorder.load)
        for seed in range(CASES):
            policy.infer(made_up(bundle.manifest, profile, seed))
        rows = compare_engines(bundle, recorder.take(CASES), job.engine, job.threads)
    worst = max(rows, key=lambda row: row.relative / row.bound)
    return Parity(relative=worst.relative, bound=worst.bound, source=source)


def _spread(times_ns: Sequence[int]) -> Spread:
    p50, p95, p99 = np.percentile(np.array(times_ns) / 1e6, [50, 95, 99]).tolist()
    return Spread(p50=p50, p95=p95, p99=p99)


def _resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def recommend(results: Sequence[Measured | Failed]) -> tuple[Measured | None, str]:
    """Returns what to take, and why: the fastest by 95th percentile among those within their parity bound.

    One that computes in less than float32 has to save more than a tenth of the time.
    """
    measured = [result for result in results if isinstance(result, Measured)]
    right = [each for each in measured if each.parity.passed]
    if not right:
        return None, "no engine is within its parity bound" if measured else "no engine gave a result"

    def p95(each: Measured) -> float:
        return each.whole.p95

    best = min(right, key=p95)
    plain = min((each for each in right if each.job.engine.precision is None), key=p95, default=best)
    why = "the fastest that is within its parity bound"
    if plain is not best and p95(best) > WORTH * p95(plain):
        best, why = plain, f"hardly slower than {best.job.engine}, and computes in float32"
    wrong = [str(each.job.engine) for each in measured if not each.parity.passed and p95(each) < p95(best)]
    return best, why + (f" ({', '.join(wrong)}: faster, but beyond the bound)" if wrong else "")

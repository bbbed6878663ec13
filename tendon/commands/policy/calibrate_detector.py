"""Calibrate the failure detector of a bundle on successful episodes in simulation, and put it into the bundle.

Examples:
  tendon policy calibrate-detector bundles/tabletop
  tendon policy calibrate-detector bundles/tabletop --seeds 120000:120600 --alpha 0.02
  tendon policy calibrate-detector bundles/tabletop --dry-run --picture outputs/detector.png
  tendon policy calibrate-detector outputs/mine --suite tabletop_hard --residual outputs/residual/seed0

It promises for scenes and motion like those that it was calibrated on: name the suite and the residual that it will run
with. In a third of the episodes the robot gets a second task when the first is done, in a third on the way there.

It changes bundle.yaml, so a signature does not hold any more: sign the bundle again. Residuals stay bound to it. With
--residual it goes into the residual's folder, and watches the policy where that corrects it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

from tendon.cli.eval_options import SuiteOption
from tendon.cli.options import BundleArgument, RobotOption, WorkersOption, check_delay
from tendon.cli.outputs import require_folder
from tendon.cli.progress import CountingBar
from tendon.cli.seeds import parse_seeds
from tendon.core.errors import ConfigError

if TYPE_CHECKING:
    from tendon.evaluation.detection.tracing import Traced, TraceJob

FIRST_SEED, END_SEED = 100_000, 200_000
PICTURE = Path("outputs/detector.png")


def command(
    bundle: BundleArgument,
    seeds: Annotated[
        str, typer.Option(metavar="FIRST:END", help="Scenes of 100000-199999, never reported ones.")
    ] = "100000:100600",
    alpha: Annotated[float, typer.Option(help="Largest share of good episodes with an alarm.")] = 0.05,
    delay_ms: Annotated[
        list[float] | None,
        typer.Option(
            help="Inference delay as it will be, in simulated time; repeated, one is drawn for each episode. "
            "[default: 0, 50 and 100, or that of the suite]"
        ),
    ] = None,
    robot: RobotOption = "panda",
    suite: SuiteOption = "auto",
    residual: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Corrects the policy in these episodes; gets the detector.")
    ] = None,
    workers: WorkersOption = 2,
    picture: Annotated[Path, typer.Option(metavar="FILE", help="Of scores and thresholds.")] = PICTURE,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Leave the bundle as it is.")] = False,
) -> int:
    """Calibrates, draws, writes, and says what was found."""
    from tendon.evaluation.detection.pictures import draw_calibration
    from tendon.evaluation.detection.usual import DELAYS_MS, usual_jobs
    from tendon.evaluation.statistics import wilson
    from tendon.evaluation.suites import load_suite, suite_for
    from tendon.policies.bundle.bundle import load_bundle, write_bundle
    from tendon.policies.bundle.places import find_bundle
    from tendon.policies.detector.conformal import calibrate, largest_scores
    from tendon.policies.detector.file import detector_files
    from tendon.policies.inference.identity import policy_digest
    from tendon.policies.residual.bundle import ResidualBundle, load_residual, write_detector
    from tendon.robots.profile import load_profile

    scenes = parse_seeds(seeds, FIRST_SEED, END_SEED)
    if not 0 < alpha < 1:
        raise ConfigError(f"--alpha is {alpha}, must be between 0 and 1")
    source = load_bundle(find_bundle(bundle))
    if not dry_run:
        require_folder(*((source.folder, "bundle") if residual is None else (residual, "--residual")))
    profile = load_profile(robot)  # what is wrong is one line here, not one a process
    named = suite_for(profile, suite)
    own_ms = 1e3 * load_suite(named).difficulty.delay_s
    delays_ms = delay_ms or ([own_ms] if own_ms else DELAYS_MS)
    for delay in delays_ms:
        check_delay(delay)
    corrects: ResidualBundle | None = None
    if residual is not None:
        residual = residual.expanduser().resolve()
        corrects = load_residual(residual)
        corrects.open(profile, policy_digest(source.manifest))
    jobs = usual_jobs(source.folder, robot, scenes, delays_ms=delays_ms, suite=named, residual=residual)
    traced = sorted(_run_with_bar(jobs, workers), key=lambda one: one.job.seed)
    good = [one.trace for one in traced if one.episode.success]
    failed = [one.trace for one in traced if not one.episode.success]
    order = np.random.default_rng(scenes.start).permutation(len(good))
    calibration, largest = calibrate([good[k] for k in order], alpha)
    episodes = len(next(iter(largest.values())))
    failures = largest_scores(failed, calibration)
    draw_calibration(calibration, largest, failures, alpha, picture)

    print(f"{wilson(len(good), len(traced))} succeeded; {episodes} of them set the thresholds:")
    for name, threshold in calibration.thresholds.items():
        print(f"  {name:12s} {threshold:6.2f}   median of good episodes {np.median(largest[name]):.2f}")
    if failed:
        seen = np.any([failures[name] > calibration.thresholds[name] for name in failures], axis=0)
        print(f"failed episodes with an alarm: {wilson(int(seen.sum()), len(failed))}")
    print(f"picture: {picture}")
    if not dry_run:
        corrected = "" if residual is None else f", corrected by residual {residual.name}"
        delays = ", ".join(f"{delay:g}" for delay in delays_ms)
        described = f"simulated scenes {seeds} of {named}, delays {delays} ms{corrected}"
        files = detector_files(calibration, source, alpha, episodes, described)
        size = sum(len(data) for data in files.values()) / 1e3
        if corrects is None:
            signed = source.signer is not None
            written = write_bundle(source.folder, source.manifest, {**source.content, **files})
            print(f"{source.folder}: detector of {size:.0f} kB written, digest {written.digest[:12]}")
        else:
            signed = write_detector(corrects, files)
            print(f"{corrects.folder}: detector of {size:.0f} kB written, for the policy that it corrects")
        print(
            "it slows and holds, and never stops: `python benchmarks/detector_stop.py --write` sets thresholds for that"
        )
        if signed:
            kind = "policy" if corrects is None else "residual"
            print(f"its signature was removed: sign it again with `tendon {kind} sign`")
    return 0


def _run_with_bar(jobs: list[TraceJob], workers: int) -> list[Traced]:
    from tendon.evaluation.detection.tracing import run_traces

    traced: list[Traced] = []
    with CountingBar("calibrate", len(jobs)) as bar:
        for one in run_traces(jobs, workers):
            traced.append(one)
            bar.advance(1, f"{sum(t.episode.success for t in traced)} succeeded")
    return traced

"""How near calibration comes to the truth, how honest its covariance is, and whether drift is found.

Table `rendered`: pictures drawn by a simulator with blur, smear, wrong exposure, noise and lens distortion, 5 % of
corners moved by up to 30 px; the camera 2 to 5 cm from where one believes it; zeros of five joints off by 1 to 3 deg,
then exact. Beside it, on the same views and intrinsics, every method of OpenCV's calibrateHandEye; TSAI on the poses as
they come is easy_handeye2's way. OpenCV 5's wheel has no calibrateHandEye, so those run in OpenCV 4.

Tables `honesty` and `verify`: corners are computed, with noise of 0.2 px and 5 % wrong ones; joints are off by 0.3 mrad
from view to view. Table `seen`: the same of pictures, of a rig with a camera that stands besides.

Examples:
  python benchmarks/calibration.py --busy
  python benchmarks/calibration.py --only rendered --trials 5 --rows /tmp/rows
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import harness
import numpy as np
from rigs.pictures import CHECKED, VIEWS, seen_trial
from rigs.trials import (
    DRIFTS,
    Trial,
    chi_squared,
    drift_trial,
    latency_errors,
    opencv4,
    rendered_trial,
    synthetic_trial,
)

from tendon.calibration.rig.solve import RigCalibration, solve
from tendon.calibration.transforms import mm_and_deg
from tendon.core.errors import CalibrationError
from tendon.demo.calibration.pair import draw_pair, pair_views
from tendon.evaluation.statistics import wilson

TABLES = ("rendered", "honesty", "verify", "latency", "pair", "seen")
JOINT_NOISE = 3e-4
"""How far a joint is from where it says, from view to view [rad]."""
METHODS = ("TSAI", "PARK", "HORAUD", "ANDREFF", "DANIILIDIS")
"""Of calibrateHandEye."""


def peers(trials: list[Trial]) -> dict[str, list[tuple[float, float]]]:
    """Returns errors [mm] and [deg] of each of OpenCV's methods, computed by OpenCV 4 in a process of its own."""
    where = opencv4()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "poses.json"
        file.write_text(json.dumps([trial.poses() for trial in trials]), encoding="utf-8")
        script = Path(__file__).parent / "rigs" / "hand_eye.py"
        environment = {**os.environ, "PYTHONPATH": str(where)}
        told = subprocess.run(
            [sys.executable, str(script), str(file), *METHODS],
            env=environment,
            check=True,
            capture_output=True,
            text=True,
        )
    answers: dict[str, list[list[float]]] = json.loads(told.stdout)
    return {
        method: [trial.error_of(values) for trial, values in zip(trials, found, strict=True)]
        for method, found in answers.items()
    }


def rendered(bench: harness.Bench, count: int, simulator: str, zero_deg: tuple[float, float]) -> None:
    """Adds the rows of rendered trials whose zeros are off by so much."""
    trials = []
    for seed in range(count):
        trials.append(rendered_trial(seed, simulator, zero_deg))
        print(f"rendered {seed + 1} of {count}", flush=True)
    rows: dict[str, list[tuple[float, float]]] = defaultdict(list)
    zeros, pixels, lens = [], [], []
    for trial in trials:
        found = solve(trial.rig, trial.views)
        rows["tendon: zeros and lens too"].append(trial.error(found))
        zeros.append(trial.zero_error(found))
        pixels.append(found.fit.rms_px)
        lens.append(trial.lens_rms_px)
        bare = solve(replace(trial.rig, joints=()), trial.views)
        rows["tendon: camera and board alone"].append(trial.error(bare))
    rows |= {f"calibrateHandEye {method}": errors for method, errors in peers(trials).items()}
    for way, errors in rows.items():
        values = spread(errors)
        if way.startswith("tendon: zeros"):
            values["zeros, median of largest"] = harness.Number(round(float(np.median(zeros)), 4), "deg")
            values["rig, rms"] = harness.Number(round(float(np.median(pixels)), 3), "px")
            values["lens, rms"] = harness.Number(round(float(np.median(lens)), 3), "px")
        case = {"zeros off by": f"{zero_deg[0]:g} to {zero_deg[1]:g} deg", "way": way, "trials": str(count)}
        bench.add(case, values, claim="calibration/rendered")


def spread(errors: Sequence[tuple[float, float]]) -> dict[str, harness.Value]:
    """Returns median and largest of errors in mm and deg."""
    mm, deg = np.array(errors).T
    return {
        "mm, median": harness.Number(round(float(np.median(mm)), 3), "mm"),
        "mm, largest": harness.Number(round(float(mm.max()), 3), "mm"),
        "deg, median": harness.Number(round(float(np.median(deg)), 4), "deg"),
        "deg, largest": harness.Number(round(float(deg.max()), 4), "deg"),
    }


def pair(bench: harness.Bench, count: int) -> None:
    """Adds the row of two arms with a camera in each hand and one that sees a board on each, solved at once."""
    errors, zeros = [], []
    for seed in range(count):
        rng = np.random.default_rng(seed)
        true = draw_pair(rng)
        found = solve(true.rig, pair_views(true, rng)).state
        errors += [mm_and_deg(found.cameras[name].change_to(place)) for name, place in true.cameras.items()]
        zeros.append(float(np.degrees(np.abs(found.zeros - true.zeros).max())))
        print(f"pair {seed + 1} of {count}", flush=True)
    values = spread(errors) | {
        "zeros, median of largest": harness.Number(round(float(np.median(zeros)), 4), "deg"),
    }
    bench.add({"rig": "two arms, three cameras, four boards", "trials": str(count)}, values, claim="calibration/pair")


def shared(bench: harness.Bench, count: int) -> None:
    """Adds how often the 95 % region holds the truth, and how often a drift is found, or one that is not there."""
    inside, drifted = Counter[str](), Counter[str]()
    for seed in range(count):
        trial, found, said = drift_trial(7000 + seed, JOINT_NOISE)
        _count(inside, trial, found)
        drifted.update(name for name, each in said.items() if not each.holds)
        if seed % 20 == 19:
            print(f"drifts: {seed + 1} of {count}", flush=True)
    _add_honesty(bench, inside, count, JOINT_NOISE)
    for name in DRIFTS:
        case = {"drift": name, "views": "8"}
        bench.add(case, {"said to have drifted": wilson(drifted[name], count)}, claim="calibration/verify")


def exact_joints(bench: harness.Bench, count: int) -> None:
    """Adds the same of joints that are where they say."""
    inside = Counter[str]()
    for seed in range(count):
        _count(inside, *synthetic_trial(7000 + seed, 0.0))
        if seed % 20 == 19:
            print(f"exact joints: {seed + 1} of {count}", flush=True)
    _add_honesty(bench, inside, count, 0.0)


def seen(bench: harness.Bench, count: int, simulator: str) -> None:
    """Adds how often the region of each camera of a rig holds the truth, and how often it is falsely said to drift."""
    held, drifted, refused = Counter[str](), Counter[str](), 0
    for seed in range(count):
        try:
            told = seen_trial(seed, simulator)
        except CalibrationError as error:
            print(f"seen {seed + 1} of {count} is refused: {error}", flush=True)
            refused += 1
            continue
        for camera, each in told.items():
            held[camera] += each.held
            drifted[camera] += each.drifted
        print(f"seen {seed + 1} of {count}", flush=True)
    rigs = count - refused
    for camera, where in (("wrist", "camera in the hand"), ("scene", "camera that stands")):
        values = {
            "95 % region holds the truth": wilson(held[camera], rigs),
            "said to have drifted": wilson(drifted[camera], rigs),
        }
        case = {"of": where, "views": f"{VIEWS}, then {CHECKED}"}
        bench.add(case, values, claim="calibration/seen", note=f"{refused} rigs with too few views are refused")


def _count(inside: Counter[str], trial: Trial, found: RigCalibration) -> None:
    camera, everything = trial.squares(found)
    inside["camera"] += camera < chi_squared(6)
    inside["camera and zeros"] += everything < chi_squared(6 + len(trial.rig.joints))


def _add_honesty(bench: harness.Bench, inside: Counter[str], count: int, joint_noise: float) -> None:
    for what in ("camera", "camera and zeros"):
        case = {"of": what, "joints off from view to view": f"{1000 * joint_noise:g} mrad"}
        bench.add(case, {"95 % region holds the truth": wilson(inside[what], count)}, claim="calibration/honesty")


def main() -> None:
    """Adds the rows that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=TABLES, action="append", help="tables; all by default")
    parser.add_argument("--trials", type=int, default=30, help="rendered ones (30)")
    parser.add_argument("--pairs", type=int, default=30, help="of two arms (30)")
    parser.add_argument("--seen", type=int, default=60, help="of pictures of a rig with two cameras (60)")
    parser.add_argument("--synthetic", type=int, default=200, help="computed ones (200)")
    parser.add_argument("--simulator", default="mujoco", help="that draws (mujoco)")
    harness.add_arguments(parser)
    options = parser.parse_args()
    bench = harness.begin(options, *(f"calibration/{table}" for table in TABLES))
    wanted = options.only or TABLES
    if "verify" in wanted:
        shared(bench, options.synthetic)
    if "latency" in wanted:
        errors = np.array(latency_errors(options.synthetic))
        bench.add(
            {"what": "a wave of 10 s, pictures at 20 Hz, 2 % noise", "trials": str(options.synthetic)},
            {
                "median": harness.Number(round(float(np.median(np.abs(errors))), 3), "ms"),
                "largest": harness.Number(round(float(np.abs(errors).max()), 3), "ms"),
            },
            claim="calibration/latency",
        )
    if "honesty" in wanted:
        exact_joints(bench, options.synthetic)
    if "pair" in wanted:
        pair(bench, options.pairs)
    if "seen" in wanted:
        seen(bench, options.seen, options.simulator)
    if "rendered" in wanted:
        for zero_deg in ((1.0, 3.0), (0.0, 0.0)):
            rendered(bench, options.trials, options.simulator, zero_deg)


if __name__ == "__main__":
    main()

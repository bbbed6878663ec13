"""easy_handeye2's own code on the views of `benchmarks/calibration.py`: what it makes of them, beside ours.

It needs a checkout of easy_handeye2 outside this repository, and installs OpenCV 4, transforms3d and an older NumPy
beside the environment. Of easy_handeye2 the OpenCV backend runs, with the algorithm that it takes by default.

Example:
  python benchmarks/peers/easy_handeye2.py --checkout ~/easy_handeye2 --busy
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import harness
import numpy as np
from rigs.trials import opencv4, rendered_trial

from tendon.calibration.rig.solve import solve

NEEDED = ("transforms3d", "numpy<2.4")
"""What it imports. With a later NumPy it ends in a TypeError: it makes a number of an array of one."""


def run(checkout: Path, poses: list[dict[str, list[list[float]]]]) -> list[list[float]]:
    """Returns a row-major 4 x 4 pose a trial, by easy_handeye2's backend in a process of its own."""
    beside = Path(sys.executable).parents[1] / "easy_handeye2"
    if not (beside / "transforms3d").is_dir():
        words = ["-m", "pip", "install", "--quiet", "--no-deps", "--target", str(beside), *NEEDED]
        subprocess.run([sys.executable, *words], check=True)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "poses.json"
        file.write_text(json.dumps(poses), encoding="utf-8")
        script = Path(__file__).parents[1] / "rigs" / "easy_handeye2_backend.py"
        told = subprocess.run(
            [sys.executable, str(script), str(checkout), str(file)],
            env={**os.environ, "PYTHONPATH": f"{beside}{os.pathsep}{opencv4()}"},
            check=True,
            capture_output=True,
            text=True,
        )
    answers: list[list[float]] = json.loads(told.stdout)
    return answers


def main() -> None:
    """Adds a row for each way and both kinds of zeros."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkout", type=Path, required=True, help="of easy_handeye2")
    parser.add_argument("--trials", type=int, default=30, help="of each kind (30)")
    parser.add_argument("--simulator", default="mujoco", help="that draws (mujoco)")
    harness.add_arguments(parser)
    options = parser.parse_args()
    bench = harness.begin(options, "calibration/easy-handeye2")
    for zero_deg in ((1.0, 3.0), (0.0, 0.0)):
        trials = [rendered_trial(seed, options.simulator, zero_deg) for seed in range(options.trials)]
        theirs = run(options.checkout, [trial.poses() for trial in trials])
        errors = {
            "easy_handeye2, Tsai-Lenz": [t.error_of(values) for t, values in zip(trials, theirs, strict=True)],
            "tendon: zeros and lens too": [trial.error(solve(trial.rig, trial.views)) for trial in trials],
        }
        for way, found in errors.items():
            mm, deg = np.array(found).T
            case = {"zeros off by": f"{zero_deg[0]:g} to {zero_deg[1]:g} deg", "way": way, "trials": str(len(found))}
            values: dict[str, harness.Value] = {
                "mm, median": harness.Number(round(float(np.median(mm)), 3), "mm"),
                "mm, largest": harness.Number(round(float(mm.max()), 3), "mm"),
                "deg, median": harness.Number(round(float(np.median(deg)), 4), "deg"),
                "deg, largest": harness.Number(round(float(deg.max()), 4), "deg"),
            }
            bench.add(case, values)


if __name__ == "__main__":
    main()

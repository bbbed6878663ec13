"""What LeRobot reads in datasets that Tendon makes: every number and picture, beside Tendon's own reader.

LeRobot runs in the Python that is named, by default this one (`make setup-lerobot`): so its newest version can be asked
in an environment of its own, of `lerobot[dataset]` and nothing of Tendon.

Examples:
  python benchmarks/dataset_readers.py
  python benchmarks/dataset_readers.py --python /tmp/newest/bin/python --codec h264
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import harness
import numpy as np
from recording_kills import make_recordings

from tendon.data.convert.from_mcap import Options, convert
from tendon.data.lerobot.reader import LeRobotDataset

PROGRAM = Path(__file__).parent / "rigs" / "recording" / "lerobot_reader.py"
EPISODES, SECONDS = 3, 2.0


def ask(python: str, dataset: Path, answer: Path) -> dict[str, Any]:
    """Returns what LeRobot says of a dataset: its version, and the loss of a step or the problem."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"} | {"HF_HUB_OFFLINE": "1"}
    command = [python, "-P", str(PROGRAM), str(dataset), str(answer)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=300.0)
    found: dict[str, Any] = {}
    for line in done.stdout.splitlines():
        found |= json.loads(line)
    if not found:
        raise SystemExit(f"{python} has no LeRobot: {done.stderr[-300:]}")
    return found | ({"problem": done.stderr.strip().splitlines()[-1][:120]} if done.returncode else {})


def compare(dataset: LeRobotDataset, answer: Path) -> dict[str, harness.Value]:
    """Returns how far what LeRobot read is from what Tendon's reader reads."""
    frames = [frame for k in range(len(dataset)) for frame in dataset.frames(k)]
    with np.load(answer) as found:
        if len(found["action"]) != len(frames):
            raise SystemExit(f"LeRobot reads {len(found['action'])} frames, there are {len(frames)}")
        action = np.abs(found["action"] - np.array([frame.action for frame in frames], np.float32)).max()
        state = np.abs(found["observation.state"] - np.array([frame.state for frame in frames], np.float32)).max()
        stamps_ns = np.abs(found["stamp_ns"].ravel() - np.array([frame.stamp_ns for frame in frames])).max()
        pictures = 0.0
        for camera in dataset.shape.cameras:
            theirs = 255 * found[f"observation.images.{camera.name}"].transpose(0, 2, 3, 1)
            ours = np.array([frame.images[camera.name] for frame in frames], np.float64)
            pictures = max(pictures, float(np.abs(theirs - ours).mean()))
        if [frame.task for frame in frames] != found["task"].tolist():
            raise SystemExit("LeRobot reads other tasks")
    return {
        "frames": harness.Number(len(frames)),
        "numbers off by": harness.Number(float(max(action, state))),
        "stamps off by": harness.Number(float(stamps_ns), "ns"),
        "pictures off by, mean": harness.Number(round(pictures, 3), "of 255"),
    }


def main() -> None:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=sys.executable, help="which has LeRobot (this one)")
    parser.add_argument("--codec", nargs="+", choices=("h264", "av1", "png"), default=["h264", "av1", "png"])
    harness.add_arguments(parser)
    args = parser.parse_args()
    bench = harness.begin(args, "recording/readers")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = make_recordings(folder, EPISODES, SECONDS)
        for codec in args.codec:
            for file in files:
                convert(file, folder / codec, Options(codec=codec))
            found = ask(args.python, folder / codec, folder / "answer.npz")
            case = {"LeRobot": found["version"], "codec": codec}
            if "problem" in found:
                bench.add(case, {"frames": harness.Number(0)}, note=found["problem"])
                continue
            values = compare(LeRobotDataset(folder / codec), folder / "answer.npz")
            bench.add(case, values | {"loss of a step of ACT": harness.Number(round(found["loss"], 2))})
            print(codec, found, values, flush=True)


if __name__ == "__main__":
    main()

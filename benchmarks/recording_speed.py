"""How fast recordings become datasets, and datasets are read: frames a second, both cameras of the Panda in each.

LeRobot's own recorder is beside it (`make setup-lerobot`): it makes a dataset of pictures that it is given at once.

Examples:
  python benchmarks/recording_speed.py
  python benchmarks/recording_speed.py --seconds 5 --busy --rows /tmp/rows
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import harness
from recording_kills import lerobot_program, make_recordings
from rigs.recording import lerobot_episodes

from tendon.data.convert.from_mcap import Options, convert
from tendon.data.lerobot.reader import LeRobotDataset


def main() -> None:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20.0, help="of robot time in the recording (%(default)s)")
    harness.add_arguments(parser)
    args = parser.parse_args()
    bench = harness.begin(args, "recording/speed")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (file,) = make_recordings(folder, 1, args.seconds)
        for codec in ("h264", "av1", "png"):
            begin_s = time.perf_counter()
            frames = convert(file, folder / codec, Options(codec=codec)).frames
            made_s = time.perf_counter() - begin_s
            dataset = LeRobotDataset(folder / codec)
            begin_s = time.perf_counter()
            read = sum(1 for _ in dataset.frames(0))
            read_s = time.perf_counter() - begin_s
            size = sum(each.stat().st_size for each in (folder / codec).rglob("*") if each.is_file())
            values = {
                "converted": harness.Number(round(frames / made_s, 1), "frames/s"),
                "read": harness.Number(round(read / read_s, 1), "frames/s"),
                "size": harness.Number(round(size / frames / 1e3, 1), "kB/frame"),
            }
            bench.add({"by": "Tendon", "codec": codec}, values)
            print(codec, {key: f"{value.value} {value.unit}" for key, value in values.items()}, flush=True)
        bench.add({"by": "LeRobot 0.4.4", "codec": "png"}, {"converted": lerobot(folder / "lerobot", args.seconds)})


def lerobot(folder: Path, seconds: float) -> harness.Number:
    """Returns how fast LeRobot makes a dataset of as many frames."""
    episodes = max(1, round(20 * seconds / lerobot_episodes.FRAMES))
    said, problem = lerobot_program("main", str(folder), str(episodes), "fast").communicate()
    if not said:
        raise SystemExit(f"LeRobot's recorder did not run: {problem[-300:]}")
    rate = harness.Number(round(episodes * lerobot_episodes.FRAMES / float(said.split()[-1]), 1), "frames/s")
    print(f"LeRobot {rate.value} {rate.unit}", flush=True)
    return rate


if __name__ == "__main__":
    main()

"""How fast training reads recorded episodes: shuffled frames a second with both pictures and a chunk of 16 actions.

LeRobot's own reader is beside it where LeRobot is installed (`make setup-lerobot`), on pictures in parquet files: the
wheels that fit a torch for CPU decode no video. `recipes/teleop_record.py` makes recordings.

Examples:
  python benchmarks/data_reading.py outputs/teleop/recordings
  python benchmarks/data_reading.py outputs/teleop/recordings --episodes 8 --frames 1000 --busy
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import harness
import numpy as np
from harness import Number

from tendon.core.errors import MissingDependencyError
from tendon.data.convert.from_mcap import Options, convert
from tendon.data.episodes import open_episodes
from tendon.data.reading.recording import McapRecording
from tendon.policies.bundle.bundle import load_bundle
from tendon.policies.training.recorded import RecordedSource, Recording
from tendon.robots.profile import load_profile

BATCH, ROWS, STEP_S = 64, 16, 0.1
BUNDLE = Path(__file__).resolve().parents[1] / "bundles" / "tabletop"


def main() -> None:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recordings", type=Path, help="folder")
    parser.add_argument("--episodes", type=int, default=16, help="(%(default)s)")
    parser.add_argument("--frames", type=int, default=4000, help="drawn of each (%(default)s)")
    harness.add_arguments(parser)
    args = parser.parse_args()
    bench = harness.begin(args, "recording/reading")
    profile = load_profile("panda")
    files = [file for file in sorted(args.recordings.glob("*.mcap")) if not _failed(file)][: args.episodes]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for codec in ("h264", "png"):
            for file in files:
                convert(file, folder / codec, Options(codec=codec))
        (folder / "files").mkdir()
        for file in files:
            (folder / "files" / file.name).symlink_to(file.resolve())

        def tendon(place: Path) -> Iterator[int]:
            recording = Recording(episodes=open_episodes(place, profile), profile=profile, viewpoints={})
            draw = RecordedSource(recording, load_bundle(BUNDLE).manifest, 1).drawing(np.random.default_rng(0))
            while True:
                yield len(draw(BATCH)["state"])

        readers: list[tuple[str, str, Callable[[], Iterator[int]]]] = [
            ("Tendon", "dataset, h264", lambda: tendon(folder / "h264")),
            ("Tendon", "dataset, png", lambda: tendon(folder / "png")),
            ("Tendon", "recordings", lambda: tendon(folder / "files")),
            ("LeRobot 0.4.4, in the trainer's process", "dataset, png", lambda: lerobot(folder / "png", 0)),
            ("LeRobot 0.4.4, two workers", "dataset, png", lambda: lerobot(folder / "png", 2)),
        ]
        for reader, source, begin in readers:
            try:
                values = measure(begin(), args.frames)
            except MissingDependencyError as error:
                print(f"{reader}: left out: {error}")
                continue
            bench.add({"reader": reader, "source": source}, values)
            print(reader, source, {key: f"{value.value} {value.unit}" for key, value in values.items()}, flush=True)


def _failed(file: Path) -> bool:
    end = McapRecording(file).end
    return end is None or end.bad or end.outcome.value == "failure"


def lerobot(root: Path, workers: int) -> Iterator[int]:
    """Yields the sizes of shuffled batches that LeRobot's dataset gives to torch's loader."""
    from tendon.policies.export.lerobot.packages import lerobot_module

    import torch  # isort: skip, after LeRobot's modules were found

    fps = json.loads((root / "meta" / "info.json").read_text())["fps"]
    chunk = {"action": [round(k * STEP_S * fps) / fps for k in range(1, ROWS + 1)]}
    dataset: Any = lerobot_module("datasets.lerobot_dataset").LeRobotDataset("local/set", root, delta_timestamps=chunk)
    loader = torch.utils.data.DataLoader(dataset, batch_size=BATCH, shuffle=True, num_workers=workers)
    while True:
        for batch in loader:
            yield len(batch["action"])


def measure(batches: Iterator[int], frames: int) -> dict[str, Number]:
    """Draws frames after the first batch, which fills what has to be filled."""
    next(batches)
    begin_s, begin_cpu_s, count = time.perf_counter(), _processor_s(), 0
    while count < frames:
        count += next(batches)
    wall_s = time.perf_counter() - begin_s
    batches.close()  # type: ignore[attr-defined]
    return {
        "read": Number(round(count / wall_s, 1), "frames/s"),
        "processor": Number(round(1e3 * (_processor_s() - begin_cpu_s) / count, 2), "ms/frame"),
    }


def _processor_s() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


if __name__ == "__main__":
    main()

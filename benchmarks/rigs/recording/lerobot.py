"""LeRobot's own recorder under the load: `LeRobotDataset` in a loop like that of its `lerobot-record`.

As there, a thread each keeps the newest picture of a camera (`read_latest`), and 30 times a second the newest of
everything becomes a frame. No picture goes from process to process here, which spares it what ROS takes. A column says
by number which pictures and which joint state are in a frame. `main` says "ready", begins with a line on its input, and
prints JSON in the end.
"""

from __future__ import annotations

import json
import logging
import resource
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rigs.recording.load import CAMERA_HZ, CAMERAS, HEIGHT, JOINT_HZ, PICTURES, WIDTH, at_rate, picture
from tendon.policies.export.lerobot.packages import lerobot_module
from tendon.robots.profile import load_profile

FPS = round(CAMERA_HZ)
WRITERS_PER_CAMERA = 4
"""As `lerobot-record` has it."""


class Source:
    """Something that a thread keeps the newest of, by number.

    Args:
        rate_hz: of it.
        seconds: for so long.
    """

    def __init__(self, rate_hz: float, seconds: float) -> None:
        self.stamps_s: list[float] = []
        self._thread = threading.Thread(target=at_rate, args=(rate_hz, seconds, self._take), daemon=True)

    def start(self) -> None:
        """Begins."""
        self._thread.start()

    def _take(self, _: int) -> None:
        self.stamps_s.append(time.perf_counter())

    @property
    def newest(self) -> int:
        """Its number; waits for the first."""
        while not self.stamps_s:
            time.sleep(0.001)
        return len(self.stamps_s) - 1


def _features(joints: Sequence[str]) -> dict[str, Any]:
    row = {"dtype": "float32", "shape": (len(joints),), "names": list(joints)}
    numbers = [*CAMERAS, "joints"]
    found: dict[str, Any] = {"observation.state": dict(row), "action": dict(row)}
    found["observation.number"] = {"dtype": "float32", "shape": (len(numbers),), "names": numbers}
    shown = {"dtype": "video", "shape": (HEIGHT, WIDTH, 3), "names": ["height", "width", "channels"]}
    return found | {f"observation.images.{name}": dict(shown) for name in CAMERAS}


def _spent_s() -> float:
    """Returns the processor time of this process and of those it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def _read(root: Path) -> tuple[dict[str, Any], list[int]]:
    """Returns the rows of the only episode, and how many pictures are in each video."""
    import av
    import pyarrow.parquet as pq

    (file,) = root.glob("data/*/*.parquet")
    counts = []
    for name in CAMERAS:
        (video,) = root.glob(f"videos/observation.images.{name}/*/*.mp4")
        with av.open(str(video)) as container:
            counts.append(sum(packet.size > 0 for packet in container.demux(video=0)))
    return pq.read_table(file).to_pydict(), counts


def main() -> None:
    """Records; its arguments are seconds, a folder, and files or streaming."""
    seconds, root, way = float(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    logging.disable(logging.WARNING)
    profile = load_profile("panda")
    dataset: Any = lerobot_module("datasets.lerobot_dataset").LeRobotDataset.create(
        "local/load",
        fps=FPS,
        root=root,
        robot_type=profile.name,
        features=_features(profile.joint_names),
        use_videos=True,
        image_writer_threads=WRITERS_PER_CAMERA * len(CAMERAS) if way == "files" else 0,
        streaming_encoding=way == "streaming",
    )
    rng = np.random.default_rng(0)
    pictures = {name: [picture(rng) for _ in range(PICTURES)] for name in CAMERAS}
    cameras = {name: Source(CAMERA_HZ, seconds) for name in CAMERAS}
    joints = Source(JOINT_HZ, seconds)
    home = profile.vector("home").astype(np.float32)
    print("ready", flush=True)
    sys.stdin.readline()
    begin_s, begin_cpu_s = time.perf_counter(), _spent_s()
    for source in (*cameras.values(), joints):
        source.start()
    while time.perf_counter() - begin_s < seconds:
        loop_s = time.perf_counter()
        numbers = {name: source.newest for name, source in cameras.items()}
        frame: dict[str, Any] = {
            f"observation.images.{name}": pictures[name][k % PICTURES] for name, k in numbers.items()
        }
        frame["observation.number"] = np.array([*numbers.values(), joints.newest], dtype=np.float32)
        frame |= {"observation.state": home, "action": home, "task": "load"}
        dataset.add_frame(frame)
        time.sleep(max(0.0, loop_s + 1 / FPS - time.perf_counter()))
    recorded_s, recorded_cpu_s = time.perf_counter(), _spent_s()
    dataset.save_episode()
    dataset.finalize()
    saved_s, saved_cpu_s = time.perf_counter(), _spent_s()
    rows, counts = _read(root)
    kept = np.array(rows["observation.number"], dtype=np.int64)
    nominal_s = np.array(rows["timestamp"], dtype=np.float64)
    off_ms = []
    for k, source in enumerate(cameras.values()):
        true_s = np.array(source.stamps_s)[kept[:, k]]
        off_ms.append(1e3 * np.abs(true_s - true_s[0] - nominal_s))
    missing = len(kept) * len(CAMERAS) - sum(counts)
    made = sum(len(source.stamps_s) for source in cameras.values())
    used = sum(len(np.unique(kept[:, k])) for k in range(len(CAMERAS)))
    print(
        json.dumps(
            {
                "pictures": made,
                "joint states": len(joints.stamps_s),
                "pictures lost": made - used + missing,
                "joint states lost": len(joints.stamps_s) - len(np.unique(kept[:, -1])),
                "pictures twice": len(kept) * len(CAMERAS) - used,
                "dropped by the encoder": missing,
                "off p50": float(np.median(off_ms)),
                "off max": float(np.max(off_ms)),
                "cores": (recorded_cpu_s - begin_cpu_s) / (recorded_s - begin_s),
                "cpu a second": (saved_cpu_s - begin_cpu_s) / (recorded_s - begin_s),
                "saving": saved_s - recorded_s,
                "MB/s": sum(f.stat().st_size for f in root.rglob("*") if f.is_file()) / 1e6 / (recorded_s - begin_s),
                "MiB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10,
            }
        ),
        flush=True,
    )

"""What recorders take and lose beside the whole graph: three cameras of 640x480 at 30 Hz and joint states at 500 Hz.

The graph is real: a simulated robot that a policy leads from task to task on the wall clock. Synthetic publishers send
the load besides. Tendon's recorder takes all of the graph's topics and the load; LeRobot's own (`make setup-lerobot`)
gets the load in its process. How late the control loop's ticks are says what the robot feels of it.

Examples:
  python benchmarks/recording_load.py
  python benchmarks/recording_load.py --recorders nobody raw --seconds 20 --busy --rows /tmp/rows
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import harness
import numpy as np
import psutil
from harness import Number
from harness.apart import keep_apart
from harness.pages import value_text
from rigs.recording.beside import felt, moving_robot
from rigs.recording.load import JOINTS, write_profile

from tendon.data.recording.pictures import SUFFIXES
from tests.soak.conditions import NO_REALTIME
from tests.soak.hours import Soak

Values = dict[str, harness.Value]
HERE = Path(__file__).resolve().parent


def program(name: str, *arguments: str, prefix: tuple[str, ...] = ()) -> subprocess.Popen[str]:
    """Starts a program of the rig behind a prefix of its command line, and waits until it is ready."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])}
    started = subprocess.Popen(
        [*prefix, sys.executable, "-c", f"from rigs.recording.{name} import main; main()", *arguments],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert started.stdout is not None
    if started.stdout.readline() != "ready\n":
        raise SystemExit(f"{name} {' '.join(arguments)} did not start")
    return started


def go(programs: list[subprocess.Popen[str]]) -> Callable[[], bool]:
    """Lets programs begin; returns what says whether all have ended."""
    for each in programs:
        assert each.stdin is not None
        each.stdin.write("go\n")
        each.stdin.flush()
    return lambda: all(each.poll() is not None for each in programs)


def disk_speed(folder: Path) -> float:
    """Returns what the disk below a folder takes in the long run [MB/s]."""
    block, count = os.urandom(4 << 20), 64
    begin_s = time.monotonic()
    with (folder / "speed").open("wb") as file:
        for _ in range(count):
            file.write(block)
        os.fdatasync(file.fileno())
    (folder / "speed").unlink()
    return count * len(block) / 1e6 / (time.monotonic() - begin_s)


def nobody(robot: Soak, seconds: float, folder: Path) -> Values:
    """The graph alone."""
    until_s = time.monotonic() + seconds
    return dict(felt(robot, lambda: time.monotonic() >= until_s))


def tendon(robot: Soak, seconds: float, folder: Path, images: str) -> Values:
    """Returns what came of Tendon's recorder."""
    from tendon.data.reading.recording import McapRecording

    recordings = folder / "recordings"
    settings = {"robot": str(write_profile(folder)), "recordings": str(recordings), "images": images}
    words = [word for key, value in settings.items() for word in ("-p", f"{key}:={value}")]
    remapped = ["-r", "__node:=recorder_node", "-r", f"joint_states:={JOINTS}"]
    node = [sys.executable, "-m", "tendon.ros2_nodes.recorder_node", "--ros-args", *remapped, *words]
    recorder = subprocess.Popen(node, stdout=subprocess.DEVNULL)
    stamps = {what: folder / f"{what}.npz" for what in ("joints", "cameras")}
    publishers = [program("load", what, str(seconds), str(file)) for what, file in stamps.items()]
    process = psutil.Process(recorder.pid)
    before, begin_s = process.cpu_times(), time.monotonic()
    jitter = felt(robot, go(publishers))
    after, took_s = process.cpu_times(), time.monotonic() - begin_s
    memory = process.memory_info().rss
    recorder.send_signal(signal.SIGINT)
    recorder.wait(60.0)
    (path,) = recordings.glob("*.mcap")
    recording = McapRecording(path)
    assert recording.end is not None
    sent = {topic: np.sort(found[topic]) for file in stamps.values() for found in [np.load(file)] for topic in found}
    ends = {topic: topic if topic == f"/{JOINTS}" else topic + SUFFIXES[images] for topic in sent}
    kept: dict[str, list[int]] = {topic: [] for topic in ends.values()}
    for sample in recording.samples(list(kept)):
        kept[sample.topic].append(sample.publish_ns)
    lost = {topic: len(np.setdiff1d(stamps, kept[ends[topic]])) for topic, stamps in sent.items()}
    off_ns = [_off(sent[topic], np.array(kept[end])) for topic, end in ends.items()]
    cpu_s = after.user + after.system - before.user - before.system
    return {
        "sent": Number(sum(map(len, sent.values()))),
        "pictures lost": Number(sum(count for topic, count in lost.items() if topic != f"/{JOINTS}")),
        "joint states lost": Number(lost[f"/{JOINTS}"]),
        "told as lost": Number(sum(recording.end.lost.values()) + sum(recording.end.dropped.values())),
        "stamps off p50": Number(float(np.median(np.concatenate(off_ns))) * 1e-6, "ms"),
        "stamps off max": Number(float(max(map(np.max, off_ns))) * 1e-6, "ms"),
        "processor": Number(round(cpu_s / took_s, 3), "cores"),
        "with saving": Number(round(cpu_s / took_s, 3), "cores"),
        "file": Number(round(path.stat().st_size / 1e6 / took_s, 1), "MB/s"),
        "memory": Number(round(memory / 2**20), "MiB"),
        **jitter,
    }


def _off(sent: Any, kept: Any) -> Any:
    """Returns how far each kept stamp is from the nearest that was sent."""
    places = np.clip(np.searchsorted(sent, kept), 1, len(sent) - 1)
    return np.minimum(abs(sent[places] - kept), abs(sent[places - 1] - kept))


def lerobot(robot: Soak, seconds: float, folder: Path, way: str) -> Values:
    """Returns what came of LeRobot's recorder; the robot moves on while it saves.

    Of root, SVT-AV1 would take real-time priority 99 for its threads, above every control loop: it does not get that.
    """
    recorder = program("lerobot", str(seconds), str(folder / "set"), way, prefix=NO_REALTIME)
    jitter = felt(robot, go([recorder]))
    assert recorder.stdout is not None
    found: dict[str, float] = json.loads(recorder.stdout.read().splitlines()[-1])
    return {
        "sent": Number(found["pictures"] + found["joint states"]),
        "pictures lost": Number(found["pictures lost"]),
        "joint states lost": Number(found["joint states lost"]),
        "told as lost": Number(found["dropped by the encoder"]),
        "stamps off p50": Number(round(found["off p50"], 1), "ms"),
        "stamps off max": Number(round(found["off max"], 1), "ms"),
        "processor": Number(round(found["cores"], 3), "cores"),
        "with saving": Number(round(found["cpu a second"], 3), "cores"),
        "file": Number(round(found["MB/s"], 1), "MB/s"),
        "memory": Number(round(found["MiB"]), "MiB"),
        "saving took": Number(round(found["saving"], 1), "s"),
        **jitter,
    }


RECORDERS: dict[str, tuple[str, float, Callable[[Soak, float, Path], Values]]] = {
    "nobody": ("nobody, no load", 60.0, nobody),
    "raw": ("Tendon, raw", 60.0, lambda robot, seconds, folder: tendon(robot, seconds, folder, "raw")),
    "jpeg": ("Tendon, JPEG", 600.0, lambda robot, seconds, folder: tendon(robot, seconds, folder, "jpeg")),
    "h264": ("Tendon, H.264", 60.0, lambda robot, seconds, folder: tendon(robot, seconds, folder, "h264")),
    "files": (
        "LeRobot 0.4.4, PNG, then AV1",
        30.0,
        lambda robot, seconds, folder: lerobot(robot, seconds, folder, "files"),
    ),
    "streaming": (
        "LeRobot 0.4.4, AV1 at once",
        60.0,
        lambda robot, seconds, folder: lerobot(robot, seconds, folder, "streaming"),
    ),
}
"""By name: what it is called in the table, for how long [s], and what runs it."""


def main() -> None:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recorders", nargs="+", choices=RECORDERS, default=list(RECORDERS), metavar="NAME")
    parser.add_argument("--seconds", type=float, help="of each; by default each has its own time")
    parser.add_argument(
        "--folder", type=Path, help="where recordings go; /dev/shm where the disk is slower than the load"
    )
    harness.add_arguments(parser)
    args = parser.parse_args()
    bench = harness.begin(args, "recording/load")
    keep_apart()
    for name in args.recorders:
        said, usual_s, run = RECORDERS[name]
        seconds = args.seconds or usual_s
        with tempfile.TemporaryDirectory(dir=args.folder) as folder, moving_robot() as robot:
            disk = Number(round(disk_speed(Path(folder))), "MB/s")
            values = {**run(robot, seconds, Path(folder)), "disk": disk}
        detected = sum(reason.startswith("policy_node: asks") for reason in robot.latches)
        values |= {
            "stops of the detector": Number(detected),
            "other stops": Number(len(robot.latches) - detected),
        }
        bench.add({"recorder": said, "for": f"{seconds:g} s"}, values)
        print(said, {key: value_text(value) for key, value in values.items()}, flush=True)


if __name__ == "__main__":
    main()

"""What a kill costs: recorder and converter are killed with SIGKILL at random moments, and what is left is read.

Half of the recorders are killed inside the write of a chunk: after some of its bytes. Readers are `mcap` and `rosbags`.
A message counts as late enough to be kept when it was put in more than a second before the kill. LeRobot's own recorder
is killed beside it (`make setup-lerobot`), and its own reader reads what is left.

Examples:
  python benchmarks/recording_kills.py
  python benchmarks/recording_kills.py --kills 0 --conversions 0
  python benchmarks/recording_kills.py --kills 10 --conversions 5 --busy --rows /tmp/rows
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import harness
import numpy as np
from rigs.recording import lerobot_episodes

HERE = Path(__file__).parent
BOUND_S = 1.0
MOST = 200_000
SIZES = (200, 200, 200, 200, 1000, 5000, 150_000)
"""Bytes of messages, one after the other: states, statuses, pictures."""
PERIOD_S = 0.002

RECORD = """
import os, random, signal, sys, time
from pathlib import Path
import numpy as np
from tendon.data.recording import writer
from tendon.data.recording.episode import EpisodeBegin
from tendon.data.recording.session import RecordingSession, Settings
folder, torn, seed = Path(sys.argv[1]), sys.argv[2] == "torn", int(sys.argv[3])
times = np.memmap(folder / "times", np.float64, "r+")
rng, after = random.Random(seed), random.Random(seed).uniform(0.5, 2.5) + time.monotonic()
whole = os.write
def write(number, data):
    if torn and time.monotonic() > after and len(data) > 10000:
        whole(number, data[: rng.randrange(1, len(data))])
        os.kill(os.getpid(), signal.SIGKILL)
    return whole(number, data)
writer.os.write = write
session = RecordingSession(Settings(folder=folder))
session.start(EpisodeBegin(robot="panda", started_ns=0))
noise = np.random.default_rng(seed).integers(0, 255, 200000, np.uint8).tobytes()
sizes = %r
print("ready", flush=True)
for k in range(%d):
    text = b"%%08d" %% k + noise[: sizes[k %% len(sizes)]]
    text = text.replace(b"\\x00", b" ") + b"\\x00"
    data = b"\\x00\\x01\\x00\\x00" + len(text).to_bytes(4, "little") + text
    stamps = dict(log_ns=k + 1, publish_ns=k + 1, number=k + 1)
    session.put(writer.Sample(topic="/t", kind="std_msgs/msg/String", data=data, **stamps))
    times[k] = time.monotonic()
    time.sleep(%r)
"""


def numbers_of(path: Path) -> list[list[int]]:
    """Returns the numbers of the messages that two readers find in a file."""
    from mcap.reader import make_reader
    from rosbags.highlevel import AnyReader

    with path.open("rb") as file:
        first = [m.sequence - 1 for _, _, m in make_reader(file, validate_crcs=True).iter_messages()]
    with AnyReader([path]) as reader:
        second = [int(bytes(data[8:16])) for _, _, data in reader.messages()]
    return [first, second]


def kill_a_recorder(seed: int, torn: bool) -> tuple[float, bool, int]:
    """Returns how old [s] the oldest lost message was, whether a chunk was torn, and how many messages were kept."""
    from tendon.data.recording.recover import recover_folder, scan

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        np.memmap(folder / "times", np.float64, "w+", shape=(MOST,)).flush()
        code = RECORD % (SIZES, MOST, PERIOD_S)
        child = subprocess.Popen(
            [sys.executable, "-c", code, str(folder), "torn" if torn else "whole", str(seed)], stdout=subprocess.PIPE
        )
        assert child.stdout is not None
        child.stdout.readline()
        if not torn:
            time.sleep(random.Random(seed).uniform(0.3, 3.0))
            child.kill()
        child.wait(60.0)
        if child.returncode != -signal.SIGKILL:
            raise SystemExit(f"the recorder ended with {child.returncode} before it was killed")
        times = np.memmap(folder / "times", np.float64, "r")
        put = int(np.count_nonzero(times))
        ended_s = float(times[put - 1])
        (part,) = folder.glob("*.part")
        found = scan(part)
        (path,) = recover_folder(folder)
        both = numbers_of(path)
        if both[0] != list(range(len(both[0]))) or both[1] != both[0]:
            raise SystemExit(f"seed {seed}: what was recovered is not what was recorded")
        kept = len(both[0])
        lost_s = ended_s - float(times[kept]) if kept < put else 0.0
        return lost_s, found.place < found.size, kept


def make_recordings(folder: Path, count: int, seconds: float) -> list[Path]:
    """Writes recordings of a robot with two cameras, without ROS."""
    from tendon.data.convert.to_mcap import _Messages, roles_of
    from tendon.data.lerobot.writer import Frame
    from tendon.data.recording.episode import EpisodeBegin, EpisodeEnd
    from tendon.data.recording.writer import EpisodeWriter
    from tendon.robots.profile import load_profile

    profile = load_profile("panda")
    roles = roles_of(profile, [camera.name for camera in profile.cameras])
    files, rng = [], np.random.default_rng(0)
    for k in range(count):
        begin = EpisodeBegin(robot="panda", started_ns=0, simulated=True, roles=roles, instruction="do it")
        writer = EpisodeWriter(folder / f"episode-{k:06d}.mcap", begin)
        messages = _Messages(writer, profile, roles)
        home = profile.vector("home")
        for n in range(round(20 * seconds)):
            images = {
                c.name: np.kron(
                    rng.integers(0, 255, (c.height // 8, c.width // 8, 3), np.uint8), np.ones((8, 8, 1), np.uint8)
                )
                for c in profile.cameras
            }
            at_ns = (k + 1) * 10**12 + n * 50_000_000
            action = home + 0.1 * np.sin(n / 10)
            frame = Frame(stamp_ns=at_ns, state=action, velocity=0 * home, action=action, images=images, task="do it")
            messages.write(frame, at_ns + 50_000_000)
        files.append(writer.finish(EpisodeEnd()))
    return files


def kill_a_converter(files: list[Path], seed: int, seconds: float) -> tuple[int, int]:
    """Returns how many episodes were whole after the kill, and after the run that went on."""
    from tendon.data.lerobot.check import problems
    from tendon.data.lerobot.layout import INFO
    from tendon.data.lerobot.reader import LeRobotDataset

    with tempfile.TemporaryDirectory() as name:
        out = Path(name) / "set"
        command = [sys.executable, "-m", "tendon.cli", "data", "convert", str(files[0].parent), "--out", str(out)]
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        begin = time.monotonic()
        while not (out / "data").exists() and child.poll() is None and time.monotonic() - begin < 60.0:
            time.sleep(0.01)
        time.sleep(random.Random(seed).uniform(0.0, seconds))
        child.kill()
        child.wait()
        whole = 0
        if (out / INFO).is_file():
            dataset = LeRobotDataset(out)
            whole = len(dataset)
            if found := list(problems(dataset)):
                raise SystemExit(f"seed {seed}: {found[0]}")
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        dataset = LeRobotDataset(out)
        if found := list(problems(dataset)):
            raise SystemExit(f"seed {seed}, gone on: {found[0]}")
        return whole, len(dataset)


def lerobot_program(what: str, *arguments: str) -> subprocess.Popen[str]:
    """Starts LeRobot's recorder or reader."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])}
    environment |= {"HF_HUB_OFFLINE": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1"}
    code = f"from rigs.recording.lerobot_episodes import {what}; {what}()"
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def kill_lerobot(seed: int | None) -> dict[str, int]:
    """Returns how many episodes and frames LeRobot's recorder had made when it was killed, and its reader found.

    Without a seed it is left to end by itself.
    """
    with tempfile.TemporaryDirectory() as name:
        root = str(Path(name) / "set")
        child = lerobot_program("main", root, "2" if seed is None else "1000", "paced")
        assert child.stdout is not None
        if child.stdout.readline() != "ready\n":
            raise SystemExit(f"LeRobot's recorder did not start: {child.communicate()[1][-500:]}")
        if seed is not None:
            time.sleep(random.Random(seed).uniform(3.0, 12.0))
            child.kill()
        said = child.communicate()[0].split()
        reader = lerobot_program("read", root)
        answer, problem = reader.communicate()
        opened = reader.returncode == 0
        if not opened:
            print(f"LeRobot {seed}: {problem.strip().splitlines()[-1][:200]}", flush=True)
        return {
            "recorded": said.count(lerobot_episodes.FRAME),
            "finished": said.count(lerobot_episodes.EPISODE),
            "opened": int(opened),
            **(json.loads(answer.splitlines()[-1]) if opened else {"episodes": 0, "frames": 0}),
        }


def kill_lerobot_often(bench: harness.Bench, kills: int) -> None:
    """Adds the row of LeRobot's recorder."""
    if not kill_lerobot(None)["opened"]:
        raise SystemExit("LeRobot's reader does not read what its recorder had finished")
    found = []
    for k in range(kills):
        found.append(kill_lerobot(k))
        print(f"LeRobot {k}: {found[-1]}", flush=True)
    lost = [each["recorded"] - each["frames"] for each in found]
    finished = sum(each["finished"] for each in found)
    values = {
        "kills": harness.Number(kills),
        "messages kept": harness.Number(sum(each["frames"] for each in found)),
        "older than 1 s and lost": harness.Number(sum(max(0, each - lerobot_episodes.FPS) for each in lost)),
        "most lost": harness.Number(max(lost) / lerobot_episodes.FPS, "s"),
        "episodes whole after the kill": harness.Number(sum(each["episodes"] for each in found)),
        "datasets with a problem": harness.Number(sum(not each["opened"] for each in found)),
    }
    note = f"frames of {sum(each['recorded'] for each in found)}, episodes of {finished} that it had finished"
    case = {"killed": "LeRobot 0.4.4's recorder", "when": "at a random moment"}
    bench.add(case, values, note=note)


def main() -> None:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100, help="of a recorder (%(default)s)")
    parser.add_argument("--conversions", type=int, default=100, help="that are killed (%(default)s)")
    parser.add_argument("--lerobot", type=int, default=50, help="kills of LeRobot's recorder; 0 without (%(default)s)")
    harness.add_arguments(parser)
    args = parser.parse_args()
    bench = harness.begin(args, "recording/kills")
    os.environ["OMP_NUM_THREADS"] = "1"
    if args.lerobot:
        kill_lerobot_often(bench, args.lerobot)
    for torn in (False, True) if args.kills else ():
        found = []
        for k in range(args.kills // 2):
            found.append(kill_a_recorder(1000 * torn + k, torn))
            print(f"{'torn' if torn else 'random'} {k}: lost {found[-1][0]:.2f} s, {found[-1][2]} kept", flush=True)
        lost_s = [each[0] for each in found]
        case = {"killed": "recorder", "when": "inside the write of a chunk" if torn else "at a random moment"}
        values = {
            "kills": harness.Number(len(found)),
            "torn chunks": harness.Number(sum(each[1] for each in found)),
            "messages kept": harness.Number(sum(each[2] for each in found)),
            "older than 1 s and lost": harness.Number(sum(each > BOUND_S for each in lost_s)),
            "most lost": harness.Number(round(max(lost_s), 3), "s"),
        }
        bench.add(case, values)
    if not args.conversions:
        return
    folder = Path(tempfile.mkdtemp())
    try:
        files = make_recordings(folder, 6, 3.0)
        done = []
        for k in range(args.conversions):
            done.append(kill_a_converter(files, k, 3.0))
            print(f"conversion {k}: {done[-1][0]} of {done[-1][1]} whole after the kill", flush=True)
        values = {
            "kills": harness.Number(len(done)),
            "episodes whole after the kill": harness.Number(sum(each[0] for each in done)),
            "datasets with a problem": harness.Number(0),
            "complete when gone on": harness.Number(sum(each[1] == len(files) for each in done)),
        }
        bench.add({"killed": "converter", "when": "at a random moment"}, values)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()

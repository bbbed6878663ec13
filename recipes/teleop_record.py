"""Records demonstrations of a scripted person with a gamepad: device, teleoperation node, graph, filter, recorder.

The person decides as the scripted expert does and pushes both sticks (`tests/ros2_nodes/teleop/pad_policy.py`). Scenes
are those of training, one after the other; what was done is in WORK/episodes.jsonl, so a cut run goes on when it is
started again. Recordings are in WORK/recordings, the robot in WORK/robot. WORK/good lists those that succeeded.

Examples:
  python recipes/teleop_record.py outputs/teleop --episodes 48
  python recipes/teleop_record.py outputs/drawer --episodes 96 --families drawer --robot robots/panda/profile.yaml
  python recipes/teleop_record.py outputs/teleop --episodes 48 --for-s 200     # so much at a time
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT)]

from tendon.cli.progress import CountingBar  # noqa: E402
from tendon.core.json_lines import json_lines_so_far  # noqa: E402
from tendon.core.paths import share_folder  # noqa: E402
from tendon.graph import topics  # noqa: E402
from tendon.graph.domain import free_domain  # noqa: E402
from tendon.robots.profile import load_profile  # noqa: E402

FIRST_SEED = 94_000
"""Scenes of training that the shipped policy was not made with."""
MOUNT = re.compile(r"(frame: scene_camera_optical_frame\n\s+mount: \{link: panda_link0, position: )\[[^]]*\]")
MOVED = "[1.0, 0.12, 0.74]"
"""Where the camera over the table stands now: 12 cm to the side, 2 cm nearer and higher; it looks at the same place."""


def moved_camera(folder: Path) -> Path:
    """Returns the profile of the Panda whose camera over the table stands elsewhere, and makes it if need be."""
    profile = folder / "profile.yaml"
    if not profile.is_file():
        shutil.copytree(share_folder() / "robots" / "panda", folder, dirs_exist_ok=True)
        text, count = MOUNT.subn(rf"\g<1>{MOVED}", profile.read_text())
        if count != 1:
            raise SystemExit(f"{profile}: the mount of camera scene is not written as expected")
        profile.write_text(text)
    return profile


def main() -> None:
    """Records until there are enough, or the time is over."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path, help="folder")
    parser.add_argument("--episodes", type=int, default=48, help="that succeed (%(default)s)")
    parser.add_argument("--families", nargs="+", default=["pick", "put_in"], help="of tasks, in turn (pick put_in)")
    parser.add_argument("--robot", type=Path, help="profile; by default the Panda with its scene camera elsewhere")
    parser.add_argument("--for-s", type=float, default=float("inf"), help="begin no episode after so many seconds")
    args = parser.parse_args()
    work, log = args.work.resolve(), args.work.resolve() / "episodes.jsonl"
    work.mkdir(parents=True, exist_ok=True)
    robot = moved_camera(work / "robot") if args.robot is None else args.robot.resolve()
    rows: list[dict[str, Any]] = json_lines_so_far(log)
    if sum(row["success"] for row in rows) < args.episodes:
        record(work, robot, args.families, rows, args.episodes, time.monotonic() + args.for_s)
    good = [row["file"] for row in rows if row["success"]]
    (work / "good").write_text("".join(f"{file}\n" for file in good))
    seconds = sum(row["seconds"] for row in rows if row["success"])
    print(f"{work}: {len(good)} of {len(rows)} episodes succeeded, {seconds / 60:.1f} min of demonstrations")


def record(
    work: Path, robot: Path, families: list[str], rows: list[dict[str, Any]], episodes: int, until_s: float
) -> None:
    """Records episodes, and appends to `rows` and the log."""
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    os.environ.setdefault("ROS_DOMAIN_ID", str(free_domain()))
    os.environ["TENDON_STATE"] = tempfile.mkdtemp(prefix="tendon-state-")
    from tests.ros2_nodes.running_graph import RunningGraph
    from tests.ros2_nodes.teleop.key_policy import Tabletop
    from tests.ros2_nodes.teleop.pad_policy import Pad, PadPolicy

    arguments = ("policy:=none", f"robot:={robot}", "record:=manual", f"recordings:={work / 'recordings'}")
    graph = RunningGraph(work / "graph.log", "backend:=sim", *arguments, profile=load_profile(str(robot)))
    done = sum(row["success"] for row in rows)
    try:
        graph.ready()
        table = Tabletop(graph, graph.profile)
        pad = Pad(table, str(robot), work)
        with pad.taken(), CountingBar("teleop", episodes) as bar, (work / "episodes.jsonl").open("a") as log:
            bar.advance(done, f"{done} of {len(rows)} done")
            person = PadPolicy(table, pad)
            while done < episodes and time.monotonic() < until_s:
                seed = FIRST_SEED + len(rows)
                scene = table.load(seed, families[seed % len(families)])
                graph.operator.say(scene.instruction)
                graph.pause(0.2)
                file = graph.operator.trigger(topics.RECORD_START).partition("recording ")[2]
                begun_ns = graph.now_ns()
                success = person.do(scene)
                seconds = (graph.now_ns() - begun_ns) * 1e-9
                graph.operator.trigger(topics.RECORD_SUCCESS if success else topics.RECORD_FAILURE)
                rows.append(
                    {
                        "seed": seed,
                        "family": scene.task.family,
                        "instruction": scene.instruction,
                        "success": success,
                        "seconds": round(seconds, 2),
                        "file": file.removesuffix(".part"),
                        "why": "" if success else (graph.reason() if table.stopped() else "not in time"),
                    }
                )
                log.write(json.dumps(rows[-1]) + "\n")
                log.flush()
                done += success
                bar.advance(success, f"{done} of {len(rows)} done, {scene.task.family} {seconds:.1f} s")
    finally:
        graph.end()


if __name__ == "__main__":
    main()

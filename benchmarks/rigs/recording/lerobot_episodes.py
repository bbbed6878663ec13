"""LeRobot's own recorder as it is killed: episodes of two seconds, one after the other, of the Panda's two cameras.

Pictures go into parquet files (`use_videos` off), which spares it the encoding at the end of an episode. `main` says
"ready", then a line for each frame and each episode that is finished; `read` says what a new process finds.
"""

from __future__ import annotations

import json
import logging
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from tendon.policies.export.lerobot.packages import lerobot_module
from tendon.robots.profile import load_profile

FPS, FRAMES = 20, 40
NAME = "local/episodes"
FRAME, EPISODE = "frame", "episode"


def main() -> None:
    """Records so many episodes, or until it is killed; its arguments are a folder, a number, and paced or fast.

    In the end it prints how many seconds that took.
    """
    logging.disable(logging.WARNING)
    profile = load_profile("panda")
    joints = {"dtype": "float32", "shape": (len(profile.joint_names),), "names": list(profile.joint_names)}
    features: dict[str, Any] = {"observation.state": joints, "action": dict(joints)}
    for camera in profile.cameras:
        shown = {"dtype": "image", "shape": (camera.height, camera.width, 3), "names": ["height", "width", "channels"]}
        features[f"observation.images.{camera.name}"] = shown
    dataset: Any = lerobot_module("datasets.lerobot_dataset").LeRobotDataset.create(
        NAME,
        fps=FPS,
        root=Path(sys.argv[1]),
        robot_type=profile.name,
        features=features,
        use_videos=False,
        image_writer_threads=4 * len(profile.cameras),
    )
    rng, home = np.random.default_rng(0), profile.vector("home").astype(np.float32)
    pictures = {
        f"observation.images.{camera.name}": rng.integers(0, 255, (camera.height, camera.width, 3), np.uint8)
        for camera in profile.cameras
    }
    paced = sys.argv[3] == "paced"
    print("ready", flush=True)
    started_s = time.monotonic()
    for _ in range(int(sys.argv[2])):
        for _ in range(FRAMES):
            begin_s = time.monotonic()
            dataset.add_frame({"observation.state": home, "action": home, "task": "do it", **pictures})
            print(FRAME, flush=True)
            if paced:
                time.sleep(max(0.0, 1 / FPS - (time.monotonic() - begin_s)))
        dataset.save_episode()
        print(EPISODE, flush=True)
    dataset.finalize()
    print(time.monotonic() - started_s)


def read() -> None:
    """Prints how many episodes and frames LeRobot finds in a folder, its argument, and reads them all."""
    dataset: Any = lerobot_module("datasets.lerobot_dataset").LeRobotDataset(NAME, root=Path(sys.argv[1]))
    frames = sum(1 for k in range(len(dataset)) if dataset[k])
    print(json.dumps({"episodes": dataset.meta.total_episodes, "frames": frames}))

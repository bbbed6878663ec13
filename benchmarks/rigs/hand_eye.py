"""OpenCV's calibrateHandEye on poses of a file: run by an interpreter whose OpenCV is 4, for 5's wheel has none.

It prints, by method and trial, a row-major 4 x 4 pose of the camera in the hand.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import cv2
import numpy as np


def main() -> None:
    """Reads, computes, prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("poses", type=Path, help="a .json with a list of trials")
    parser.add_argument("methods", nargs="+", help="such as TSAI")
    options = parser.parse_args()
    trials = json.loads(options.poses.read_text(encoding="utf-8"))
    found: dict[str, list[list[float]]] = {}
    for method in options.methods:
        found[method] = []
        for poses in trials:
            hands, boards = (np.array(poses[key]).reshape(-1, 4, 4) for key in ("hand_in_base", "board_in_camera"))
            turn, shift = cv2.calibrateHandEye(  # type: ignore[attr-defined]  # that of OpenCV 4
                hands[:, :3, :3],
                hands[:, :3, 3],
                boards[:, :3, :3],
                boards[:, :3, 3],
                method=getattr(cv2, f"CALIB_HAND_EYE_{method}"),
            )
            pose = np.eye(4)
            pose[:3, :3], pose[:3, 3] = turn, shift.ravel()
            found[method].append(pose.ravel().tolist())
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()

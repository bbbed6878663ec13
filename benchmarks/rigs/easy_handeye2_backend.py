"""Runs easy_handeye2's own OpenCV backend on poses of a file, by an interpreter whose OpenCV is 4.

Its source is read from a checkout outside this repository. Of what it imports, the node that logs and the class that
its answer is put into are stood in for here; what computes is its own.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
from geometry_msgs.msg import Quaternion, Transform, Vector3

BACKEND = "easy_handeye2/easy_handeye2/handeye_calibration_backend_opencv.py"


def main() -> None:
    """Reads, computes, prints a row-major 4 x 4 pose a trial."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path, help="of easy_handeye2")
    parser.add_argument("poses", type=Path, help="a .json with a list of trials")
    options = parser.parse_args()
    from transforms3d.quaternions import quat2mat  # installed for this run

    for name in ("easy_handeye2", "easy_handeye2.handeye_calibration"):
        sys.modules[name] = ModuleType(name)
    sys.modules["easy_handeye2.handeye_calibration"].HandeyeCalibration = SimpleNamespace  # type: ignore[attr-defined]
    spec = importlib.util.spec_from_file_location("backend", options.checkout / BACKEND)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    log = SimpleNamespace(info=lambda _: None, warn=print, err=print)
    node = SimpleNamespace(get_logger=lambda: log)
    found = []
    for poses in json.loads(options.poses.read_text(encoding="utf-8")):
        hands, boards = (np.array(poses[key]).reshape(-1, 4, 4) for key in ("hand_in_base", "board_in_camera"))
        samples = [
            SimpleNamespace(robot=_message(hand), tracking=_message(board))
            for hand, board in zip(hands, boards, strict=True)
        ]
        backend = module.HandeyeCalibrationBackendOpenCV()
        answer = backend.compute_calibration(node, None, SimpleNamespace(samples=samples)).transform
        way, turn = answer.translation, answer.rotation
        pose = np.eye(4)
        pose[:3, :3] = quat2mat((turn.w, turn.x, turn.y, turn.z))
        pose[:3, 3] = way.x, way.y, way.z
        found.append(pose.ravel().tolist())
    json.dump(found, sys.stdout)


def _message(pose: np.ndarray) -> Transform:
    import transforms3d

    w, x, y, z = transforms3d.quaternions.mat2quat(pose[:3, :3]).tolist()
    way = pose[:3, 3].tolist()
    return Transform(translation=Vector3(x=way[0], y=way[1], z=way[2]), rotation=Quaternion(x=x, y=y, z=z, w=w))


if __name__ == "__main__":
    main()

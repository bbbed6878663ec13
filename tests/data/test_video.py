"""Videos that an encoder writes beside a robot."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from tendon.data.lerobot.video import CODECS, VideoWriter, read_video

THREADS = Path("/proc/self/task")


def policies() -> set[int]:
    return {os.sched_getscheduler(int(thread.name)) for thread in THREADS.iterdir()}


@pytest.mark.parametrize("codec", sorted(CODECS))
def test_no_encoder_takes_priority_over_a_robot(codec: str, tmp_path: Path) -> None:
    """As root SVT-AV1 took real-time priority 99: a control loop beside it stood still for 48 s."""
    before = policies()  # others of this process may have chosen theirs
    writer = VideoWriter(tmp_path / "one.mp4", 10, 64, 48, codec)
    frames = np.random.default_rng(0).integers(0, 255, (12, 48, 64, 3), dtype=np.uint8)
    for frame in frames:
        writer.write(frame)
        assert policies() <= before | {os.SCHED_OTHER}
    writer.close()
    assert sum(1 for _ in read_video(tmp_path / "one.mp4")) == len(frames)

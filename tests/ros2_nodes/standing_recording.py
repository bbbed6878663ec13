"""A recording of a Panda that stands still, made without a graph."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tendon.data.convert.to_mcap import _Messages, roles_of
from tendon.data.lerobot.writer import Frame
from tendon.data.recording.episode import EpisodeBegin, EpisodeEnd
from tendon.data.recording.writer import EpisodeWriter
from tests.data.samples import MS, text
from tests.ros2_nodes.running_graph import PROFILE


def standing_recording(path: Path, away: float, frames: int) -> Path:
    """Writes a recording that stands still near home."""
    roles, at = roles_of(PROFILE, []), PROFILE.vector("home") + away * np.eye(len(PROFILE.joints))[1]
    writer = EpisodeWriter(path, EpisodeBegin(robot="panda", started_ns=0, roles=roles))
    messages = _Messages(writer, PROFILE, roles)
    for k in range(frames):
        frame = Frame(stamp_ns=(k + 1) * 50 * MS, state=at, velocity=0 * at, action=at, images={}, task="")
        messages.write(frame, (k + 2) * 50 * MS)
    writer.write(text(0))
    return writer.finish(EpisodeEnd())

"""Observations made again of a recording: one that is made of what was not recorded costs no other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tendon.data.reading import observations
from tendon.data.reading.observations import FRAMES, rebuilt
from tendon.data.reading.recording import McapRecording
from tendon.data.recording.episode import EpisodeBegin, EpisodeEnd, Roles
from tendon.data.recording.schemas import typestore
from tendon.data.recording.writer import Durability, EpisodeWriter, Sample
from tests.data.episodes import PROFILE
from tests.data.samples import MS

BEGIN_MS, COUNT = 1_000_000, 3 * FRAMES


def sample(topic: str, kind: str, at_ms: int, **fields: Any) -> Sample:
    types = typestore().types
    seconds, rest_ms = divmod(at_ms, 1000)
    stamp = types["builtin_interfaces/msg/Time"](sec=seconds, nanosec=rest_ms * MS)
    header = types["std_msgs/msg/Header"](stamp=stamp, frame_id=fields.pop("frame_id", ""))
    message = header if kind == "std_msgs/msg/Header" else types[kind](header=header, **fields)
    data = bytes(typestore().serialize_cdr(message, kind))
    return Sample(topic=topic, kind=kind, log_ns=at_ms * MS, publish_ns=at_ms * MS, number=0, data=data)


def state(at_ms: int) -> Sample:
    home = PROFILE.vector("home")
    values = {"name": list(PROFILE.joint_names), "position": home, "velocity": 0 * home, "effort": np.zeros(0)}
    return sample("/joint_states", "sensor_msgs/msg/JointState", at_ms, **values)


def frame(at_ms: int) -> Sample:
    pixels = {"data": np.full(12, at_ms % 251, np.uint8), "encoding": "rgb8", "is_bigendian": 0}
    return sample("/scene", "sensor_msgs/msg/Image", at_ms, height=2, width=2, step=6, **pixels)


def samples(lost: int) -> Iterator[Sample]:
    """A frame every 50 ms, two states each, and the word of an observation of both; the state of one is not there."""
    for k in range(COUNT):
        at_ms = BEGIN_MS + 50 * k
        if k != lost:
            yield state(at_ms)
        yield frame(at_ms)
        yield sample("/given", "std_msgs/msg/Header", at_ms, frame_id="1 digest scene:0 0")
        yield state(at_ms + 20)


@pytest.mark.parametrize(("lost", "found"), [(-1, COUNT), (0, COUNT - 1), (COUNT // 2, COUNT)])
def test_what_was_lost_of_one_observation_is_not_lost_of_those_behind_it(lost: int, found: int, tmp_path: Path) -> None:
    """The first is from before the episode, and passed over; one in the middle is said to be missing."""
    roles = Roles(
        joint_names=PROFILE.joint_names,
        joint_states="/joint_states",
        cameras={"scene": "/scene"},
        others={"given": "/given"},
    )
    begin = EpisodeBegin(robot="panda", started_ns=1, instruction="", hashes={}, roles=roles)
    writer = EpisodeWriter(tmp_path / "episode.mcap", begin, Durability(chunk_bytes=100_000, chunk_s=1e9), "lz4")
    for each in samples(lost):
        writer.write(each)
    recording = McapRecording(writer.finish(EpisodeEnd()))
    made = list(rebuilt(recording, PROFILE))
    assert len(made) == found and sum(each.observation is None for each in made) == (lost == COUNT // 2)
    assert COUNT * 4 < observations.PATIENCE

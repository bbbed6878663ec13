"""Pictures of a camera for tests of recordings: each shows its number, in blocks that a codec keeps."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tendon.data.recording.episode import EpisodeBegin, Roles
from tendon.data.recording.pictures import RAW
from tendon.data.recording.schemas import typestore
from tendon.data.recording.writer import Sample
from tests.data.samples import MS

TOPIC = "/camera/scene/image_raw"
BEGIN = EpisodeBegin(robot="panda", started_ns=1, roles=Roles(cameras={"scene": TOPIC}))
SIDE, BITS = 8, 16
WIDTH, HEIGHT = SIDE * BITS, 2 * SIDE

Pixels = npt.NDArray[np.uint8]


def numbered(number: int, width: int = WIDTH, height: int = HEIGHT) -> Pixels:
    """A picture of a number: a column of blocks for each bit, above blocks of the opposite."""
    bits = np.array([number >> k & 1 for k in range(BITS)], dtype=np.uint8)
    picture = np.repeat(np.repeat(np.stack([bits, 1 - bits]), SIDE, axis=0), SIDE, axis=1)
    return np.stack([np.pad(40 + 160 * picture, ((0, height - HEIGHT), (0, width - WIDTH)))] * 3, axis=-1)


def number_of(pixels: Pixels) -> int:
    """The number that a picture shows; both rows have to say the same."""
    middles = pixels[SIDE // 2 : HEIGHT : SIDE, SIDE // 2 : WIDTH : SIDE, 1] > 120
    assert (middles[0] != middles[1]).all(), "no picture that anybody drew"
    return sum(1 << k for k, bit in enumerate(middles[0]) if bit)


def camera(
    pixels: npt.NDArray[Any], at_ns: int, encoding: str = "rgb8", stamp_ns: int | None = None, topic: str = TOPIC
) -> Sample:
    """A raw picture that was received at a time."""
    types, stamp_ns = typestore().types, at_ns if stamp_ns is None else stamp_ns
    stamp = types["builtin_interfaces/msg/Time"](sec=stamp_ns // 10**9, nanosec=stamp_ns % 10**9)
    message = types[RAW](
        header=types["std_msgs/msg/Header"](stamp=stamp, frame_id="scene_optical_frame"),
        height=pixels.shape[0],
        width=pixels.shape[1],
        encoding=encoding,
        is_bigendian=0,
        step=pixels.nbytes // pixels.shape[0],
        data=np.ascontiguousarray(pixels).view(np.uint8).ravel(),
    )
    data = bytes(typestore().serialize_cdr(message, RAW))
    return Sample(topic=topic, kind=RAW, log_ns=at_ns, publish_ns=stamp_ns, number=7, data=data)


def stamped(number: int, period_ms: int = 33) -> Sample:
    """The picture of a number, with the stamp that belongs to it."""
    return camera(numbered(number), (1000 + number * period_ms) * MS, stamp_ns=number)

"""Frames of the cameras of a recording, however their pictures were recorded."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any, cast

import av
import numpy as np
import numpy.typing as npt
from av.video.reformatter import VideoReformatter

from tendon.core.errors import InvalidDataError
from tendon.core.stamps import nanoseconds_of
from tendon.core.types import Image
from tendon.data.reading.recording import decode
from tendon.data.recording.compressed import COMPRESSED, read_compressed
from tendon.data.recording.schemas import VIDEO
from tendon.data.recording.writer import Sample
from tendon.observation.messages import image

_KEY = re.compile(rb"\x00\x00\x01[\x25\x45\x65]")
"""A NAL unit of a key frame (H.264, table 7-1): after it nothing before it is needed."""


class Frames:
    """Reads the frames of cameras. Give it every message of a topic, in the order in which they were received.

    Attributes:
        missing: topic to pictures that cannot be made, since one that they are made from is not there.
    """

    def __init__(self) -> None:
        self._videos: dict[str, _Video] = {}
        self.missing: Counter[str] = Counter()

    def read(self, sample: Sample) -> Image | None:
        """Returns the frame in a message, raw, JPEG or of a video; `None` where it cannot be made.

        Raises:
            InvalidDataError: the message cannot be read.
        """
        message = decode(sample)
        if sample.kind == COMPRESSED:
            return read_compressed(message)
        if sample.kind != VIDEO:
            return image(message)
        pixels = self._videos.setdefault(sample.topic, _Video()).read(sample, message)
        if pixels is None:
            self.missing[sample.topic] += 1
            return None
        stamp = message.timestamp
        return Image(stamp_ns=nanoseconds_of(int(stamp.sec), int(stamp.nanosec)), pixels=pixels)


class _Video:
    """Decodes the messages of one topic. Behind a lost one it waits for a key frame: a decoder would make something."""

    def __init__(self) -> None:
        self._decoder: av.VideoCodecContext | None = None
        self._next = 0
        self._reformatter = VideoReformatter()

    def read(self, sample: Sample, message: Any) -> npt.NDArray[np.uint8] | None:
        """Returns the picture, (height, width, 3) RGB, or `None` while there is no key frame.

        Raises:
            InvalidDataError: it is no picture of H.264.
        """
        if message.format != "h264":
            raise InvalidDataError(f"{sample.topic} is a video in {message.format!r}, must be h264")
        data = bytes(message.data)
        if sample.number != self._next:
            self._decoder = None
        self._next = sample.number + 1
        if self._decoder is None:
            if _KEY.search(data) is None:
                return None
            self._decoder = av.CodecContext.create("h264", "r")
            self._decoder.thread_count = 1  # more would hold pictures back
            self._decoder.options = {"err_detect": "explode"}  # it would make up what cannot be read
        try:
            (frame,) = self._decoder.decode(av.Packet(data))
            if frame.is_corrupt:
                raise ValueError("parts of it cannot be read")
        except (av.FFmpegError, ValueError) as error:
            self._decoder = None
            raise InvalidDataError(
                f"{sample.topic}: message {sample.number} is no picture of H.264: {error}"
            ) from error
        pixels = self._reformatter.reformat(frame, format="rgb24").to_ndarray()
        pixels.setflags(write=False)
        return cast("npt.NDArray[np.uint8]", pixels)

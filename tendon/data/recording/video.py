"""Pictures as H.264 instead of raw: each message holds what makes its picture of those before it."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from typing import Any, cast

import av
import numpy as np
from av.video.frame import PictureType
from av.video.reformatter import ColorRange, Colorspace, VideoReformatter

from tendon.core.distribution import pip_install
from tendon.core.errors import ConfigError, InvalidDataError
from tendon.core.stamps import SECOND_NS
from tendon.data.recording.pictures import RAW, SUFFIXES
from tendon.data.recording.schemas import VIDEO, typestore
from tendon.data.recording.writer import Sample

ENCODER = "libx264"
OPTIONS = {"preset": "ultrafast", "tune": "zerolatency", "crf": "18", "forced-idr": "1"}
"""A picture in, a picture out, in the least processor time: it has to keep up with every camera of a robot."""
KEY_NS = SECOND_NS
"""Longest time between two key frames: so much more than itself a chunk that is lost can cost."""
FORMATS = {"rgb8": ("rgb24", 3), "bgr8": ("bgr24", 3), "mono8": ("gray", 1)}
"""Encodings of a message that are encoded, with what FFmpeg calls them and bytes a pixel."""
_BT601 = 6
"""Its number in H.264 for primaries, transfer and matrix alike: without it players guess from the size."""


def require_encoder() -> None:
    """Checks that the encoder is there.

    Raises:
        ConfigError: it is not.
    """
    try:
        av.Codec(ENCODER, "w")
    except ValueError as error:
        raise ConfigError(
            f"images:=h264 needs {ENCODER}, which PyAV has not here ({error}): {pip_install('data')} brings one that "
            "has, or take images:=jpeg"
        ) from error


class H264:
    """Makes messages of raw pictures into such of a video, on TOPIC/foxglove; others are left as they are.

    One for each episode, so that it begins with a key frame. The messages of a video are numbered from 1 on: where one
    is missing, a reader waits for the next key frame.
    """

    def __init__(self) -> None:
        self._encoders: dict[str, _Encoder] = {}
        self._counts: Counter[str] = Counter()

    def __call__(self, sample: Sample) -> Sample:
        """Returns what is recorded for a message; a picture of an encoding that is not known is recorded as it came.

        Raises:
            InvalidDataError: the encoder fails. The next picture has a new one.
        """
        if sample.kind != RAW:
            return sample
        store = typestore()
        try:
            message: Any = store.deserialize_cdr(sample.data, RAW)
            frame = _frame(message)
        except (InvalidDataError, ValueError, KeyError):
            return sample
        encoder = self._encoders.pop(sample.topic, None)
        try:
            if encoder is None or encoder.size != (frame.width, frame.height):
                encoder = _Encoder(frame.width, frame.height)
            data = encoder.encode(frame, sample.log_ns)
        except (av.FFmpegError, ValueError) as error:
            raise InvalidDataError(
                f"a picture of {sample.topic}, {frame.width}x{frame.height}, is missing: {ENCODER} fails ({error}); "
                "record with images:=jpeg"
            ) from error
        self._encoders[sample.topic] = encoder
        self._counts[sample.topic] += 1
        video = store.types[VIDEO](
            timestamp=message.header.stamp,
            frame_id=message.header.frame_id,
            data=np.frombuffer(data, dtype=np.uint8),
            format="h264",
        )
        return replace(
            sample,
            topic=sample.topic + SUFFIXES["h264"],
            kind=VIDEO,
            number=self._counts[sample.topic],
            data=bytes(store.serialize_cdr(video, VIDEO)),
        )


def _frame(message: Any) -> av.VideoFrame:
    """Returns a raw picture as FFmpeg takes it.

    Raises:
        InvalidDataError: another encoding, or a size that its data does not have.
    """
    name, bytes_each = FORMATS.get(message.encoding, ("", 0))
    height, width = int(message.height), int(message.width)
    if not name or message.step != bytes_each * width or not 0 < len(message.data) == height * message.step:
        raise InvalidDataError(f"{message.encoding} of {width}x{height} with {len(message.data)} bytes")
    shape = (height, width) if bytes_each == 1 else (height, width, bytes_each)
    return av.VideoFrame.from_ndarray(message.data.reshape(shape), format=name)


class _Encoder:
    """Encodes pictures of one camera that are of one size.

    A side that is odd takes 4:4:4, since 4:2:0 has one colour for two pixels.

    Raises:
        av.FFmpegError: there is no encoder for this size.
    """

    def __init__(self, width: int, height: int) -> None:
        self.size = width, height
        self._format = "yuv444p" if width % 2 or height % 2 else "yuv420p"
        self._context = context = cast(av.VideoCodecContext, av.CodecContext.create(ENCODER, "w"))
        context.width, context.height, context.pix_fmt = width, height, self._format
        context.framerate, context.thread_count, context.options = Fraction(30), 1, OPTIONS
        context.gop_size = 1 << 30  # key frames are asked for, by time
        context.color_primaries = context.color_trc = context.colorspace = _BT601
        context.color_range = ColorRange.MPEG
        context.open()
        self._reformatter = VideoReformatter()
        self._count = 0
        self._key_ns: int | None = None

    def encode(self, frame: av.VideoFrame, log_ns: int) -> bytes:
        """Returns the access unit of a picture that was received at a time.

        Raises:
            av.FFmpegError, ValueError: the encoder fails.
        """
        planes = self._reformatter.reformat(
            frame,
            format=self._format,
            dst_colorspace=Colorspace.ITU601,
            src_color_range=ColorRange.JPEG,
            dst_color_range=ColorRange.MPEG,
        )
        key = self._key_ns is None or not 0 <= log_ns - self._key_ns < KEY_NS
        planes.pict_type = PictureType.I if key else PictureType.NONE
        planes.pts, self._count = self._count, self._count + 1
        (packet,) = self._context.encode(planes)
        if key:
            self._key_ns = log_ns
        return bytes(packet)

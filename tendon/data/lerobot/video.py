"""Videos of a camera, frame by frame, by PyAV."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import cast

import av
import numpy as np
import numpy.typing as npt

from tendon.core.errors import InvalidDataError

CODECS = {
    "h264": ("libx264", {"g": "2", "crf": "18", "preset": "veryfast"}),
    "av1": ("libsvtav1", {"g": "2", "crf": "30", "preset": "10"}),
}
"""Encoder and options; a key frame every second one, as LeRobot has it, so that any frame is found fast."""

Pixels = npt.NDArray[np.uint8]


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Names the file in what FFmpeg says meanwhile, and makes it an error of the system: some of FFmpeg's are others.

    Raises:
        OSError: the file cannot be written.
    """
    try:
        yield
    except av.FFmpegError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error


class VideoWriter:
    """Writes one video.

    Args:
        path: of it.
        fps: frames a second.
        width, height: of a frame [px].
        codec: of `CODECS`.

    Raises:
        OSError: the file cannot be written, of this and of each method.
    """

    def __init__(self, path: Path, fps: int, width: int, height: int, codec: str) -> None:
        encoder, options = CODECS[codec]
        os.environ.setdefault("SVT_LOG", "1")  # errors only: the encoder of AV1 tells its settings otherwise
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path, self._closed = path, False
        with writing(path):
            self._container = av.open(str(path), "w", format="mp4")
        self._stream = cast(av.VideoStream, self._container.add_stream(encoder, rate=fps, options=options))
        self._stream.width, self._stream.height, self._stream.pix_fmt = width, height, "yuv420p"
        self._stream.codec_context.time_base = Fraction(1, fps)
        self._stream.codec_context.open()
        _take_no_priority()
        self._count = 0

    def write(self, pixels: Pixels) -> None:
        """Takes a frame, (height, width, 3) RGB."""
        frame = av.VideoFrame.from_ndarray(pixels, format="rgb24")
        frame.pts, frame.time_base = self._count, self._stream.codec_context.time_base
        self._count += 1
        with writing(self._path):
            self._container.mux(self._stream.encode(frame))

    def close(self) -> None:
        """Writes what is left; once, whether it succeeds or not."""
        if self._closed:
            return
        self._closed = True
        with writing(self._path):
            try:
                self._container.mux(self._stream.encode(None))
            finally:
                self._container.close()


def _take_no_priority() -> None:
    """Gives the threads of this process their ordinary priority back.

    SVT-AV1 takes real-time priority 99 for its own where it may, as root: no control loop beside it would run.
    """
    for thread in Path("/proc/self/task").iterdir():
        with contextlib.suppress(ProcessLookupError):  # it has ended
            if os.sched_getscheduler(int(thread.name)) == os.SCHED_FIFO:
                os.sched_setscheduler(int(thread.name), os.SCHED_OTHER, os.sched_param(0))


def read_video(path: Path, begin_s: float = 0.0, end_s: float = float("inf")) -> Iterator[Pixels]:
    """Yields the frames of a video between two of its times, the second one excluded.

    Raises:
        InvalidDataError: it cannot be decoded.
    """
    try:
        with av.open(str(path)) as container:
            stream = container.streams.video[0]
            stream.thread_type = "AUTO"
            half_s = 0.5 / float(stream.average_rate or 30)
            if begin_s > 0.0:
                container.seek(int(begin_s * av.time_base), backward=True)
            for frame in container.decode(stream):
                if frame.time is None or frame.time < begin_s - half_s:
                    continue
                if frame.time >= end_s - half_s:
                    return
                yield cast(Pixels, frame.to_ndarray(format="rgb24"))
    except (av.FFmpegError, IndexError, ValueError) as error:
        raise InvalidDataError(f"{path} is no video that can be decoded: {error}") from error

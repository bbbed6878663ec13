"""Pictures as JPEG instead of raw: a tenth of the space, and not bit for bit what the policy saw."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import cv2
import numpy as np

from tendon.core.errors import InvalidDataError
from tendon.core.types import Image
from tendon.data.recording.pictures import RAW, SUFFIXES
from tendon.data.recording.schemas import typestore
from tendon.data.recording.writer import Sample
from tendon.observation.messages import image, stamp_ns

COMPRESSED = "sensor_msgs/msg/CompressedImage"
QUALITY = 95


class Jpeg:
    """Makes messages of raw pictures into such of JPEG pictures, on TOPIC/compressed; others are left as they are."""

    def __call__(self, sample: Sample) -> Sample:
        """Returns what is recorded for a message; a picture that cannot be read is recorded as it came."""
        if sample.kind != RAW:
            return sample
        store = typestore()
        try:
            message: Any = store.deserialize_cdr(sample.data, RAW)
            pixels = image(message).pixels
        except (InvalidDataError, ValueError, KeyError):
            return sample
        if not pixels.size:
            return sample
        _, data = cv2.imencode(".jpg", cv2.cvtColor(pixels, cv2.COLOR_RGB2BGR), (cv2.IMWRITE_JPEG_QUALITY, QUALITY))
        compressed = store.types[COMPRESSED](
            header=message.header, format="rgb8; jpeg compressed bgr8", data=data.ravel()
        )
        return replace(
            sample,
            topic=sample.topic + SUFFIXES["jpeg"],
            kind=COMPRESSED,
            data=bytes(store.serialize_cdr(compressed, COMPRESSED)),
        )


def read_compressed(message: Any) -> Image:
    """Returns the frame of a compressed message.

    Raises:
        InvalidDataError: it is no picture.
    """
    pixels = cv2.imdecode(np.frombuffer(message.data, dtype=np.uint8), cv2.IMREAD_COLOR)
    if pixels is None:
        raise InvalidDataError("a compressed picture cannot be decoded")
    rgb = np.asarray(cv2.cvtColor(pixels, cv2.COLOR_BGR2RGB), dtype=np.uint8)
    rgb.setflags(write=False)
    return Image(stamp_ns=stamp_ns(message), pixels=rgb)

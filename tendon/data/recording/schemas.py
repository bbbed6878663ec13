"""Definitions of ROS 2 messages, as MCAP files carry them; no ROS need be installed."""

from __future__ import annotations

from functools import cache

from rosbags.typesys import Stores, get_types_from_msg, get_typestore
from rosbags.typesys.store import Typestore

from tendon.core.errors import InvalidDataError

VIDEO = "foxglove_msgs/msg/CompressedVideo"
_VIDEO_FIELDS = """# One picture of a video
builtin_interfaces/Time timestamp  # of the exposure
string frame_id                    # of the camera
uint8[] data                       # what decodes to this picture alone, given those before it
string format                      # h264: Annex B, with SPS and PPS in each key frame, without B-frames
"""


@cache
def typestore() -> Typestore:
    """Returns what knows the messages of ROS 2 Jazzy, and videos."""
    store = get_typestore(Stores.ROS2_JAZZY)
    store.register(get_types_from_msg(_VIDEO_FIELDS, VIDEO))
    return store


@cache
def definition(kind: str) -> str:
    """Returns the text of a message such as `sensor_msgs/msg/Image` and of all that are in it (encoding ros2msg).

    Raises:
        InvalidDataError: it is none of ROS 2 Jazzy.
    """
    store = typestore()
    if kind not in store.fielddefs:
        raise InvalidDataError(f"message type {kind} is none of ROS 2 Jazzy: its definition is not known here")
    text, _ = store.generate_msgdef(kind, ros_version=2)
    return text

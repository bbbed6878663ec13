"""What the safety monitor must know of a camera frame: it need not take the frame itself."""

from __future__ import annotations

from std_msgs.msg import Header

from tendon.graph import topics
from tendon.ros2_nodes.wire.headers.lines import HeaderLine
from tendon.ros2_nodes.wire.times import time_ns
from tendon.safety.camera_watch import Frame

_FRAMES = HeaderLine(topic=topics.FRAMES, words=("CAMERA",), numbers=("DIGEST", "DARKEST", "BRIGHTEST"))


def frame_message(camera: str, frame: Frame) -> Header:
    """Returns the message about a camera's frame; the stamp is its exposure."""
    return _FRAMES.encode(frame.stamp_ns, camera, frame.digest, frame.darkest, frame.brightest)


def read_frame(message: Header) -> tuple[str, Frame]:
    """Returns the camera's name and what is said of its frame.

    Raises:
        InvalidDataError: the message is of another version or form.
    """
    (camera,), (digest, darkest, brightest) = _FRAMES.decode(message)
    stamp_ns = time_ns(message.stamp)
    return camera, Frame(stamp_ns=stamp_ns, digest=digest, darkest=darkest, brightest=brightest)

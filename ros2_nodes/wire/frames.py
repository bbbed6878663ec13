"""What the safety monitor must know of a camera frame, in a std_msgs/Header: it need not take the frame itself."""

from __future__ import annotations

from std_msgs.msg import Header

from tendon.core.errors import InvalidDataError
from tendon.ros2_nodes.wire.times import time_message, time_ns
from tendon.safety.camera_watch import Frame

FRAMES_TOPIC = "policy/frames"
"""The stamp is the frame's exposure; frame_id is "CAMERA DIGEST DARKEST BRIGHTEST"."""
LONGEST = 256
"""Characters of a frame_id."""


def frame_message(camera: str, frame: Frame) -> Header:
    """Returns the message about a camera's frame."""
    text = f"{camera} {frame.digest} {frame.darkest} {frame.brightest}"
    return Header(stamp=time_message(frame.stamp_ns), frame_id=text)


def read_frame(message: Header) -> tuple[str, Frame]:
    """Returns the camera's name and what is said of its frame.

    Raises:
        InvalidDataError: the message is of another form.
    """
    camera, *numbers = message.frame_id[:LONGEST].split(" ")
    if not camera or len(numbers) != 3 or not all(word.isascii() and word.isdigit() for word in numbers):
        raise InvalidDataError(
            f"{FRAMES_TOPIC}: frame_id is {message.frame_id[:LONGEST]!r}, must be CAMERA DIGEST DARKEST BRIGHTEST"
        )
    digest, darkest, brightest = map(int, numbers)
    stamp_ns = time_ns(message.stamp)
    return camera, Frame(stamp_ns=stamp_ns, digest=digest, darkest=darkest, brightest=brightest)

"""How pictures are recorded: as they come, or made smaller by choice."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tendon.core.checks import check_choice

if TYPE_CHECKING:
    from tendon.data.recording.writer import Transform

RAW = "sensor_msgs/msg/Image"
SUFFIXES = {"raw": "", "jpeg": "/compressed", "h264": "/foxglove"}
"""Each choice, and what ROS's image_transport puts behind the topic of the raw pictures for it."""


def transform_of(choice: str) -> Callable[[], Transform] | None:
    """Returns what makes, for each episode, the transform of its messages; `None` for pictures as they come.

    Raises:
        ConfigError: there is no such choice, or its encoder is not there.
    """
    check_choice("images", choice, tuple(SUFFIXES))
    if choice == "jpeg":
        from tendon.data.recording.compressed import Jpeg

        return Jpeg
    if choice == "h264":
        from tendon.data.recording.video import H264, require_encoder

        require_encoder()
        return H264
    return None

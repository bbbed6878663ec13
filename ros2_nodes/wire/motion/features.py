"""What a policy made of an observation, as a point cloud: the places it points at, and its embedding as a channel.

RViz shows the points. A residual in `control_node` needs both, of the observation that its plan comes from.
"""

from __future__ import annotations

import numpy as np
from geometry_msgs.msg import Point32
from sensor_msgs.msg import ChannelFloat32, PointCloud

from tendon.core.errors import InvalidDataError
from tendon.core.types import Features
from tendon.graph import topics
from tendon.ros2_nodes.wire.cdr import deserialize
from tendon.ros2_nodes.wire.times import time_message, time_ns

LONGEST_DIGEST = 64


def features_message(features: Features, stamp_ns: int, frame: str) -> PointCloud:
    """Returns the message; the name of its channel is the policy's digest.

    Args:
        features: of an observation.
        stamp_ns: of the observation.
        frame: the robot's base.
    """
    embedding = features.embedding.astype(np.float32).tolist()
    message = PointCloud(
        points=[Point32(x=x, y=y, z=z) for x, y, z in features.points.tolist()],
        channels=[ChannelFloat32(name=features.policy, values=embedding)],
    )
    message.header.stamp, message.header.frame_id = time_message(stamp_ns), frame
    return message


def read_features(data: bytes) -> tuple[int, Features]:
    """Returns the stamp of the observation and what was made of it.

    Raises:
        InvalidDataError: it is no such message, or a number is not finite.
    """
    message = deserialize(data, PointCloud)
    channels = message.channels
    if len(channels) != 1 or not 0 < len(channels[0].name) <= LONGEST_DIGEST:
        names = [channel.name[:LONGEST_DIGEST] for channel in channels[:3]]
        raise InvalidDataError(
            f"{topics.FEATURES}: {len(channels)} channels {names}, expected one that is named by a policy's digest"
        )
    features = Features(
        policy=channels[0].name,
        embedding=np.array(channels[0].values, dtype=np.float64),
        points=np.array([[point.x, point.y, point.z] for point in message.points], dtype=np.float64).reshape(-1, 3),
    )
    return time_ns(message.header.stamp), features

"""What goes between processes: typed values as standard ROS messages, and back.

Whoever reads gets a value, or an `InvalidDataError` that says what is wrong with the message. `world_state` is not
imported here, as it needs the simulation.
"""

from tendon.observation.messages import image
from tendon.ros2_nodes.wire.headers.frames import frame_message, read_frame
from tendon.ros2_nodes.wire.headers.given import given_message, read_given
from tendon.ros2_nodes.wire.headers.life_signs import (
    Done,
    Heartbeat,
    done_message,
    heartbeat_bytes,
    heartbeat_message,
    read_done,
    read_heartbeat,
    read_heartbeat_bytes,
)
from tendon.ros2_nodes.wire.images import camera_info_message, image_message
from tendon.ros2_nodes.wire.joint_states import EffortReader, JointStateReader, joint_state_message
from tendon.ros2_nodes.wire.motion.chunks import HeldChunk, chunk, chunk_bytes, held_chunk, held_chunk_bytes
from tendon.ros2_nodes.wire.motion.commands import command_bytes
from tendon.ros2_nodes.wire.motion.features import features_message, read_features
from tendon.ros2_nodes.wire.motion.filter_inputs import filter_input_bytes, read_filter_inputs
from tendon.ros2_nodes.wire.motion.trajectories import read_trajectory, write_trajectory
from tendon.ros2_nodes.wire.status.topics import (
    DIAGNOSTICS,
    PERMISSION,
    STATE,
    TASK,
    ForeignMessageError,
    Stated,
    StatusTopic,
    unreadable_request,
)
from tendon.ros2_nodes.wire.times import SECOND_NS, read_stamp_ns, time_message, time_ns

__all__ = [
    "DIAGNOSTICS",
    "PERMISSION",
    "SECOND_NS",
    "Stated",
    "STATE",
    "TASK",
    "Done",
    "EffortReader",
    "ForeignMessageError",
    "Heartbeat",
    "HeldChunk",
    "JointStateReader",
    "StatusTopic",
    "camera_info_message",
    "chunk",
    "chunk_bytes",
    "command_bytes",
    "done_message",
    "features_message",
    "filter_input_bytes",
    "frame_message",
    "given_message",
    "heartbeat_bytes",
    "heartbeat_message",
    "held_chunk",
    "held_chunk_bytes",
    "image",
    "image_message",
    "joint_state_message",
    "read_done",
    "read_features",
    "read_filter_inputs",
    "read_frame",
    "read_given",
    "read_heartbeat",
    "read_heartbeat_bytes",
    "read_stamp_ns",
    "read_trajectory",
    "time_message",
    "time_ns",
    "unreadable_request",
    "write_trajectory",
]

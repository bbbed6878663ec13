"""By which joint_trajectory_controller subscribes: `rclcpp::SystemDefaultsQoS`, which is best-effort in Fast DDS."""

from __future__ import annotations

from rclpy.qos import HistoryPolicy, QoSProfile, ReliabilityPolicy

SYSTEM_DEFAULTS = QoSProfile(
    history=HistoryPolicy.SYSTEM_DEFAULT, reliability=ReliabilityPolicy.SYSTEM_DEFAULT, depth=0
)

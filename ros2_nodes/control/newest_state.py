"""The newest joint state of those that came: a fast robot sends more of them than a control loop can use."""

from __future__ import annotations

from collections.abc import Callable

from tendon.core.errors import TendonError
from tendon.core.types import Observation
from tendon.robots.safety_settings import nanoseconds
from tendon.ros2_nodes import wire
from tendon.ros2_nodes.base.shell import NodeShell


class NewestState:
    """Keeps joint states as they come and reads the last one that can be read. In the thread of the control loop.

    Args:
        node: whose robot and time count.
        refuse: is told why one cannot be used.
    """

    def __init__(self, node: NodeShell, refuse: Callable[[str], None]) -> None:
        profile = node.profile
        self._time, self._refuse, self._meter = node.time, refuse, node.meter("joint_states")
        self._reader = wire.JointStateReader(
            profile.joint_names, node.time.now_ns, nanoseconds(profile.safety.state_ahead_s)
        )
        self._efforts = wire.EffortReader(profile)
        self._waiting: list[bytes] = []
        self.observation: Observation | None = None
        self.stamp_ns = 0

    def add(self, data: bytes) -> None:
        """Takes one."""
        self._waiting.append(data)

    def read(self) -> None:
        """Reads the newest of those that wait."""
        waiting, found = self._waiting, False
        if not self._time.now_ns():  # no /clock yet
            waiting.clear()
        while waiting and not found:
            found = self._read(waiting.pop())
        for _ in waiting:
            self._meter.add()
        waiting.clear()

    def _read(self, data: bytes) -> bool:
        try:
            stamp_ns, position, velocity = self._reader.read_bytes(data)
            effort = self._efforts.read_bytes(data)
            observation = Observation(
                stamp_ns=stamp_ns, joint_position=position, joint_velocity=velocity, joint_effort=effort
            )
        except TendonError as error:
            self._meter.drop()
            self._refuse(str(error))
            return False
        self._meter.add(self._time.now_ns() - stamp_ns)
        self.observation, self.stamp_ns = observation, stamp_ns
        return True

"""Second tasks, as a robot is used: when one is asked for, and which, in the loop and in a running graph alike."""

from __future__ import annotations

from typing import Any

import numpy as np

from tendon.evaluation.episode import Switch, usual_switch
from tendon.graph import topics
from tendon.sim.tabletop.scene import Scene, another_task
from tendon.sim.tabletop.world import table_of


def drawn_switch(seed: int, used: bool) -> Switch | None:
    """Returns when the episode of a scene has a second task, if it has one; see `usual_switch`.

    Args:
        seed: of the scene.
        used: whether episodes have second tasks at all.
    """
    return usual_switch(np.random.default_rng([seed, 45])) if used else None


class SeenTable:
    """The newest state of the table that a running graph tells.

    Args:
        node: of rclpy, which listens.
    """

    def __init__(self, node: Any) -> None:
        from sensor_msgs.msg import JointState

        from tendon.ros2_nodes.base import qos

        self._newest: JointState | None = None
        node.create_subscription(JointState, topics.WORLD_STATE, self._take, qos.NEWEST)

    def _take(self, message: Any) -> None:
        self._newest = message

    def another_task(self, scene: Scene) -> Scene:
        """Returns the scene with the task that the loop would ask for next; as it is where no other can be done."""
        from tendon.ros2_nodes.wire.world_state import world_state

        _, _, state = world_state(self._newest)
        return another_task(scene, *table_of(scene, state)) or scene

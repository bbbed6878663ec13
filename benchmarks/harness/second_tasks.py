"""Second tasks, as a robot is used: when one is asked for, and which, in the loop and in a running graph alike."""

from __future__ import annotations

from typing import Any

import numpy as np

from tendon.evaluation.episode import Switch, usual_switch
from tendon.graph import topics
from tendon.sim.tabletop.scene import Scene, another_task
from tendon.sim.tabletop.world import item_place


def drawn_switch(seed: int) -> Switch | None:
    """Returns when the episode of a scene has a second task, if it has one, see `usual_switch`."""
    return usual_switch(np.random.default_rng([seed, 45]))


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
        opening, held = next(iter(state.openings), 0.0), state.held[0]
        places = {
            i: item_place(item, pose, opening)
            for i, (item, pose) in enumerate(zip(scene.items, state.poses, strict=True))
        }
        return another_task(scene, places, opening, None if held < 0 else held) or scene

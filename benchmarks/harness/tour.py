"""Keeps an armed graph in motion for as long as it is measured: a policy rests when its task is done."""

from __future__ import annotations

import contextlib
import time
from itertools import cycle

from std_msgs.msg import String

from tendon.core.errors import StoppedError
from tendon.core.modes import Source
from tendon.graph import topics
from tendon.ros2_nodes.base import qos
from tendon.ros2_nodes.clients.operator import Operator
from tendon.sim.tabletop.scene import sample_scene

TASK_S, HOME_S = 12.0, 4.0
WORDS = ("pick up the {0}", "push the {0} to the left", "pick up the {1}", "push the {1} to the right")


class Tour:
    """From one task of a tabletop scene to the next, and home in between.

    Args:
        operator: of the graph.
        scene: of the tabletop.
    """

    def __init__(self, operator: Operator, scene: int) -> None:
        things = [item.name for item in sample_scene(scene).items]
        self._tasks = cycle(words.format(things[0], things[-1]) for words in WORDS)
        self._operator = operator
        self._lead = operator.node.create_publisher(String, topics.CONTROL_SOURCE, qos.LATCHED)
        self._due_s, self._home = 0.0, True

    def go_on(self) -> None:
        """Gives the robot its next task when one is due. To be called once a second or so."""
        if time.monotonic() < self._due_s:
            return
        self._home = not self._home
        if self._home:
            with contextlib.suppress(StoppedError):
                self._operator.home()
        else:
            self._lead.publish(String(data=Source.POLICY.value))
            self._operator.say(next(self._tasks))
        self._due_s = time.monotonic() + (HOME_S if self._home else TASK_S)

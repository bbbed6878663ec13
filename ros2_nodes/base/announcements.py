"""Topics that say what holds from now on: the task, whose chunks are followed, which policy runs.

A subscription that asks for transient local hears what was said before it began, but does not match a volatile
publisher, which is what `ros2 topic pub` and most programs make. So there are two, and nothing is heard twice.

Only the node that an announcement is for hears volatile ones: `ros2 topic pub --once` publishes as soon as one
subscription matches, and if that were another node's, the one it is for would miss it.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from functools import partial

from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.node import Node
from rclpy.qos import QoSProfile
from std_msgs.msg import String

from tendon.ros2_nodes.base import qos

PAIR_S = 1.0
"""Both copies of a message are queued within milliseconds; the rest is for a process that stands still meanwhile.

Copies are told by their text and not by the sender's stamp: the executor of the Jazzy wheels fails on a callback that
asks for it.
"""
REMEMBERED = 32


class Announcements:
    """Hears std_msgs/String from every reliable publisher, in the executor's thread.

    Args:
        node: subscribes.
        topic: relative or absolute.
        take: called with each text, once.
    """

    def __init__(self, node: Node, topic: str, take: Callable[[str], None]) -> None:
        self._take = take
        said: deque[tuple[str, float]] = deque(maxlen=REMEMBERED)
        kept: deque[tuple[str, float]] = deque(maxlen=REMEMBERED)
        node.create_subscription(String, topic, partial(self._hear, said, kept), qos.EACH)
        _subscribe_kept(node, topic, partial(self._hear, kept, said), qos.EACH_LATCHED)

    def _hear(self, here: deque[tuple[str, float]], there: deque[tuple[str, float]], message: String) -> None:
        """Takes a message, unless the other subscription has had it and this one not.

        Both have all messages in order, so that the first copy of each comes in order too.
        """
        text, now_s = str(message.data), time.monotonic()
        for other in tuple(there):
            if other[0] == text and now_s - other[1] <= PAIR_S:
                there.remove(other)
                return
        here.append((text, now_s))
        self._take(text)


def overhear(node: Node, topic: str, take: Callable[[str], None]) -> None:
    """Hears what publishers that are transient local announce to another node; `take` is called with each text."""
    _subscribe_kept(node, topic, lambda message: take(str(message.data)), qos.LATCHED)


def _subscribe_kept(node: Node, topic: str, take: Callable[[String], None], quality: QoSProfile) -> None:
    # Without the default callbacks, which warn that a volatile publisher will not be heard.
    silent = SubscriptionEventCallbacks(use_default_callbacks=False)
    node.create_subscription(String, topic, take, quality, event_callbacks=silent)

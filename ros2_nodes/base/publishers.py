"""Who publishes on a topic, and which nodes are the robot's, as the middleware knows it."""

from __future__ import annotations

from rclpy.node import Node
from rclpy.topic_endpoint_info import TopicEndpointInfo

from tendon.graph import topics

REMEMBERED = 256
_NAMELESS = "_CREATED_BY_BARE_DDS_APP_"
"""What the middleware calls each program that is no ROS node, whichever it is."""


def name_of(info: TopicEndpointInfo, node: Node) -> str:
    """Returns the name of an endpoint's node, with its namespace if that is not `node`'s; empty while it is unknown."""
    if info.node_name.startswith("_NODE_NAME_UNKNOWN"):
        return ""
    return short_name(f"{info.node_namespace.rstrip('/')}/{info.node_name}", node)


def is_named(name: str) -> bool:
    """Returns whether a name that `name_of` found tells one node from another."""
    return bool(name) and not name.endswith(_NAMELESS)


def short_name(full: str, node: Node) -> str:
    """Returns a full name without its namespace, if that is `node`'s."""
    namespace, _, name = full.rpartition("/")
    return name if (namespace or "/") == node.get_namespace() else full


def publishers(node: Node, topic: str) -> list[tuple[str, str]]:
    """Returns (node name as `name_of` has it, id of the publisher) of all that publish on a resolved topic."""
    found = node.get_publishers_info_by_topic(topic)
    return [(name_of(info, node), bytes(info.endpoint_gid).hex()) for info in found]


def robot_name(node: Node, topic: str, stand_in: str) -> str:
    """Returns who should take commands on a full topic: the stand-in, or the controller of ros2_control whose it is."""
    return stand_in or short_name(topic.rpartition("/")[0], node)


def robot_names(node: Node, topic: str, stand_in: str) -> set[str]:
    """Returns the names, as `name_of` has them, of the robot's nodes among those that take commands on a full topic.

    Where there is no stand-in, whoever publishes joint states is one too. Others may only watch.
    """
    drivers = () if stand_in else publishers(node, node.resolve_topic_name(topics.JOINT_STATES))
    return {robot_name(node, topic, stand_in), *(name for name, _ in drivers if is_named(name))}


class Strangers:
    """The publishers of a topic that belongs to one node. A name that was known once is remembered.

    Args:
        node: looks.
        topic: relative.
        owner: the node that may publish there.
    """

    def __init__(self, node: Node, topic: str, owner: str) -> None:
        self._node, self._topic, self._owner = node, node.resolve_topic_name(topic), owner
        self._names: dict[str, str] = {}

    def all(self) -> list[str]:
        """Returns who publishes besides the owner, with "a node without a name" for one that has none yet."""
        found = publishers(self._node, self._topic)
        self._names |= {key: name for name, key in found if name}
        self._names = dict([*self._names.items()][-REMEMBERED:])
        names = (name or self._names.get(key, "a node without a name") for name, key in found)
        return sorted({name for name in names if name != self._owner})

    def named(self) -> list[str]:
        """Returns those whose names are known: discovery tells of a topic before the node."""
        return [name for name in self.all() if name in self._names.values()]

"""The profile's stop inputs: messages of any type that is installed, of which one field is looked at."""

from __future__ import annotations

from functools import partial
from operator import attrgetter
from typing import Any

from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.qos import QoSCompatibility, QoSProfile, qos_check_compatible
from rclpy.topic_endpoint_info import TopicEndpointInfo

from tendon.core.clock import AwakeClock
from tendon.robots.profile import StopInput
from tendon.robots.stop_input_type import message_type, type_parts
from tendon.ros2_nodes.base import qos
from tendon.ros2_nodes.base.publishers import name_of
from tendon.ros2_nodes.base.shell import NodeShell
from tendon.safety.input_watch import StopInputWatch


class StopInputs:
    """Subscribes each input and feeds its watch. Everything in the executor's thread.

    Args:
        node: subscribes.
        awake: the clock of all ages.

    Raises:
        ConfigError: a message type is not installed, or has no such field.
    """

    def __init__(self, node: NodeShell, awake: AwakeClock) -> None:
        self._node, self._awake = node, awake
        self.watches = tuple(StopInputWatch(spec, node.profile.safety) for spec in node.profile.stop_inputs)
        silent = SubscriptionEventCallbacks(use_default_callbacks=False)
        for watch in self.watches:
            spec = watch.spec
            kind = message_type(spec)
            for queue, quality in enumerate(_qualities(spec)):
                hear = partial(self._hear, watch, queue, attrgetter(spec.field))
                node.create_subscription(kind, spec.topic, hear, quality, event_callbacks=silent)

    def _hear(self, watch: StopInputWatch, queue: int, field: attrgetter[Any], message: Any) -> None:
        watch.hear(field(message), self._awake.now_ns(), queue)

    def look(self) -> None:
        """Asks the middleware who publishes, and whether it can be heard."""
        for watch in self.watches:
            found = self._node.get_publishers_info_by_topic(self._node.resolve_topic_name(watch.spec.topic))
            problems = (self._problem(info, watch.spec) for info in found)
            watch.attend(len(found), " and ".join(sorted(set(filter(None, problems)))))

    def _problem(self, info: TopicEndpointInfo, spec: StopInput) -> str:
        """Returns why a publisher cannot be heard; empty when it can."""
        name, wanted = name_of(info, self._node) or "a node without a name", "/msg/".join(type_parts(spec))
        if info.topic_type != wanted:
            return f"{name} publishes {info.topic_type}, must be {wanted}"
        answers = (qos_check_compatible(info.qos_profile, quality)[0] for quality in _qualities(spec))
        if any(answer != QoSCompatibility.ERROR for answer in answers):
            return ""
        return f"{name} publishes best effort, must be reliable, or the input needs max_age_s"


def _qualities(spec: StopInput) -> tuple[QoSProfile, ...]:
    """Returns how an input is subscribed, each way beside the others."""
    if spec.max_age_s is not None:
        return (qos.INPUT_STREAM,)
    # Changes only: none may be lost, and what was said before this node began counts too.
    return qos.INPUT, qos.INPUT_LATCHED

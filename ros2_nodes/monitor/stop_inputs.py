"""The profile's stop inputs: messages of any type that is installed, of which one field is looked at."""

from __future__ import annotations

import importlib
from functools import partial
from operator import attrgetter
from typing import Any

from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.qos import QoSCompatibility, QoSProfile, qos_check_compatible
from rclpy.topic_endpoint_info import TopicEndpointInfo

from tendon.core.checks import closest
from tendon.core.clock import AwakeClock
from tendon.core.errors import ConfigError
from tendon.robots.profile import StopInput
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
            kind = _message_type(spec)
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
        name, wanted = name_of(info, self._node) or "a node without a name", "/msg/".join(_type_parts(spec))
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


def _type_parts(spec: StopInput) -> tuple[str, str]:
    """Returns the package and the name of an input's messages."""
    package, *_, name = spec.type.split("/")
    return package, name


def _message_type(spec: StopInput) -> Any:
    """Returns the type of an input's messages; its field is there and can have the values that permit motion."""
    package, name = _type_parts(spec)
    try:
        kind = getattr(importlib.import_module(f"{package}.msg"), name)
    except (ImportError, AttributeError) as error:
        raise ConfigError(
            f"stop input {spec.name}: type is {spec.type}, which is not installed ({error}): install its package, or "
            "source the workspace that has it"
        ) from error
    value = kind()
    for part in spec.field.split("."):
        known = list(value.get_fields_and_field_types()) if hasattr(value, "get_fields_and_field_types") else []
        if part not in known:
            raise ConfigError(f"stop input {spec.name}: {spec.type} has no field {spec.field}{closest(part, known)}")
        value = getattr(value, part)
    wanted = type(spec.permits[0])
    if type(value) is not wanted:
        raise ConfigError(
            f"stop input {spec.name}: {spec.field} of {spec.type} is of type {type(value).__name__}, but permits has "
            f"{spec.permits[0]!r}, of type {wanted.__name__}"
        )
    return kind

"""Between the middleware and a node: what a peer sends is measured, read and handed on, and can end nothing.

A message that cannot be read, or that its callback refuses with a `TendonError`, is dropped with a line in the log. Any
other exception in a callback is a fault of ours, and is counted; rclpy would end the process because of it.
"""

from __future__ import annotations

import inspect
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from typing import Any

from rcl_interfaces.msg import ParameterType
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.client import Client
from rclpy.node import Node
from rclpy.service import Service
from rclpy.subscription import Subscription

from tendon.core.errors import InvalidDataError, TendonError
from tendon.core.phrases import TEXTS, beginning
from tendon.ros2_nodes.base.batch import Batch
from tendon.ros2_nodes.base.guarded_client import GuardedClient
from tendon.ros2_nodes.base.message_info import MessageInfo, WithInfo
from tendon.ros2_nodes.wire.cdr import deserialize
from tendon.ros2_nodes.wire.sizes import check_length

MAX_ASKED = 64
"""Names, prefixes or parameters in one request to a node; each costs rclpy up to 40 us."""
QUIET_S = 1.0
"""Between two lines in the log."""


class GuardedNode(Node):
    """A ROS node whose callbacks, all that anybody makes for it, are guarded.

    Attributes:
        faults: how many messages and requests raised what nobody expected.
        fault: the last of those, with where it was raised.
        batch: what subscribes from now on is taken by `take_messages`; `None`: the executor hands it on.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        self.faults, self.fault = 0, ""
        self.batch: Batch | None = None
        self._beside = MutuallyExclusiveCallbackGroup()
        self._complained_s: dict[str, float] = {}
        super().__init__(*args, **options)
        inspect.getframeinfo(sys._getframe())  # as for each line in the log; the first time takes 50 ms

    def complain(self, topic: str, text: str) -> None:
        """Logs what is wrong with what came on a topic, once a second; rclpy's throttle takes 0.4 ms to say nothing.

        Of a text that is too long to be read, it logs the beginning.
        """
        now_s = time.monotonic()
        if now_s - self._complained_s.get(topic, -QUIET_S) >= QUIET_S:
            self._complained_s[topic] = now_s
            self.get_logger().warning(f"{topic}: {beginning(text, 2 * TEXTS)}")

    def create_subscription(
        self,
        msg_type: type,
        topic: str,
        callback: Callable[..., None],
        *args: Any,
        raw: bool = False,
        informed: bool = False,
        **options: Any,
    ) -> Subscription:
        """Subscribes; the callback gets messages, or bytes with `raw`, of a size that it can be asked to take.

        With `informed` it gets a `MessageInfo` too.
        """

        def take(data: bytes, *info: MessageInfo) -> None:
            try:
                check_length(msg_type, data)
                callback(data if raw else deserialize(data, msg_type), *info)
            except TendonError as error:
                self.complain(topic, str(error))
            except Exception as error:  # the top of a node
                self.count_fault(topic, error)

        guarded = WithInfo(take) if informed else take
        subscription = super().create_subscription(msg_type, topic, guarded, *args, raw=True, **options)
        if self.batch is not None:
            taker = guarded if informed else lambda message: take(message[0])
            self.batch.add(subscription, taker, subscription.qos_profile.depth)
        return subscription

    @property
    def subscriptions(self) -> Iterator[Subscription]:
        """Yields those that the executor serves: all but those of the batch."""
        batched = () if self.batch is None else self.batch.subscriptions
        yield from (each for each in super().subscriptions if each not in batched)

    def take_messages(self) -> None:
        """Takes what has come since the last call, where the executor does not."""
        if self.batch is not None:
            self.batch.take()

    def create_service(
        self, srv_type: type, srv_name: str, callback: Callable[[Any, Any], Any], **options: Any
    ) -> Service:
        """Serves requests; one that cannot be answered gets the response as it was made."""

        def answer(request: Any, response: Any) -> Any:
            try:
                _check_request(request)
                return callback(request, response)
            except TendonError as error:
                self.complain(srv_name, str(error))
            except Exception as error:  # the top of a node
                self.count_fault(srv_name, error)
            return response

        return super().create_service(srv_type, srv_name, answer, **options)

    def create_guarded_client(self, srv_type: Any, srv_name: str) -> GuardedClient:
        """Returns what asks a service, beside the executor."""
        client = self.create_client(srv_type, srv_name, callback_group=self._beside)
        return GuardedClient(self, client, srv_type, srv_name)

    @property
    def clients(self) -> Iterator[Client]:
        """Yields those that the executor serves: none that is guarded."""
        yield from (each for each in super().clients if each.callback_group is not self._beside)

    def guard(self, name: str, work: Callable[[], None]) -> None:
        """Does work that depends on what others answered: whatever it raises is said, or counted as a fault."""
        try:
            work()
        except TendonError as error:
            self.complain(name, str(error))
        except Exception as error:  # the top of a node
            self.count_fault(name, error)

    def count_fault(self, topic: str, error: Exception) -> None:
        """Takes note of an exception that nobody expected from what came on a topic or service."""
        self.faults += 1
        told = beginning(f"{type(error).__name__}: {error}")
        self.fault = f"{topic}: {told}\n{beginning(traceback.format_exc(limit=-4), TEXTS)}"
        self.complain(topic, self.fault)


def _check_request(request: Any) -> None:
    """Checks a request to the services that rclpy gives every node; it does not itself.

    Raises:
        InvalidDataError: it asks for too much, or sets a parameter to a value of a type that there is not.
    """
    for name in ("names", "prefixes", "parameters"):
        if len(getattr(request, name, ())) > MAX_ASKED:
            raise InvalidDataError(f"a request has more than {MAX_ASKED} {name}")
    for parameter in getattr(request, "parameters", ()):
        if parameter.value.type > ParameterType.PARAMETER_STRING_ARRAY:
            raise InvalidDataError(
                f"parameter {parameter.name[:MAX_ASKED]!r} has type {parameter.value.type}, not one of ROS"
            )

"""Messages taken in batches: a loop empties its subscriptions when it runs, and is not woken for each message.

An executor wakes its thread for every message and spends several times what it takes to read one (ADR 25).
"""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter

from rclpy.subscription import Subscription

LONGEST = 20
"""Messages taken from one subscription at a time, where its queue is not deeper: so a flood is cut there."""


class Batch:
    """Subscriptions that no executor serves. One thread takes."""

    def __init__(self) -> None:
        self._sources: list[tuple[Subscription, Callable[..., None], int]] = []

    @property
    def subscriptions(self) -> tuple[Subscription, ...]:
        """Those it takes from."""
        return tuple(subscription for subscription, *_ in self._sources)

    def add(self, subscription: Subscription, take: Callable[..., None], depth: int = LONGEST) -> None:
        """Takes a subscription over.

        Args:
            subscription: that no executor serves any more.
            take: gets the bytes of each message with what the middleware says of it.
            depth: of its queue.
        """
        self._sources.append((subscription, take, max(LONGEST, depth)))

    def take(self) -> None:
        """Hands on what has come, in the order in which it was received.

        The times are of the system clock, which may be set meanwhile; what one subscription received keeps its order.
        """
        found = []
        for subscription, take, longest in self._sources:
            received_ns = 0
            for _ in range(longest):
                message = subscription.handle.take_message(subscription.msg_type, True)
                if message is None:
                    break
                received_ns = max(received_ns, message[1]["received_timestamp"] or 0)
                found.append((received_ns, take, message))
        found.sort(key=itemgetter(0))
        for _, take, message in found:
            take(message)

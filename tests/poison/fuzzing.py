"""Gives one subscription or service of a node any messages at all, and says what they did to it."""

from __future__ import annotations

import ast
import gc
import itertools
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any
from unittest import mock

import numpy as np
import psutil
from rclpy.node import Node
from rclpy.serialization import deserialize_message, serialize_message
from rclpy.subscription import Subscription

from tendon.ros2_nodes.base.guard import GuardedNode
from tendon.ros2_nodes.base.message_info import WithInfo
from tests import ROOT
from tests.poison.messages import Maker
from tests.poison.mutation import Mutator

CORPUS = 5000
"""Messages that are made; what is sent are these, with other stamps and other bytes."""
WORK_EVERY = 20
"""Messages after which the node's own work goes on with good ones."""
WARM = 0.2
"""Share of the messages after which memory is looked at first: pools and caches are full by then."""
MAKERS = ("create_subscription", "create_service", "create_guarded_client")
"""What makes a node take something from others."""
TRIES = 20
"""Times as many messages are made as have to be read, at most."""
ODD_INFOS = (0, 1, 2**63 - 1)
"""Times and numbers that a peer's middleware may say."""


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """A subscription or a service.

    Attributes:
        node: whose it is.
        topic: or service, relative to the namespace.
        kind: type of the message, or of the request.
        take: the callback, with bytes or a request.
        raw: whether the callback takes bytes.
        makers: of good messages; none when nobody has said what is good.
    """

    node: Node
    topic: str
    kind: type
    take: Callable[[Any], Any]
    raw: bool
    makers: list[Maker]


@dataclass(kw_only=True)
class Found:
    """What messages did to a node.

    Attributes:
        messages: how many were sent.
        exceptions: raised by the callback or caught by its guard.
        errors: the first of each sort.
        took_us: CPU time of each callback [us].
        grown_mib: memory of the process after, less that after the first fifth [MiB].
    """

    messages: int = 0
    exceptions: int = 0
    errors: dict[str, str] = field(default_factory=dict)
    took_us: list[float] = field(default_factory=list)
    grown_mib: float = 0.0

    def spread(self) -> tuple[float, float, float]:
        """Returns p50, p99 and max of the callback [us]."""
        p50, p99, most = np.percentile(self.took_us, [50, 99, 100]).tolist()
        return p50, p99, most


def subscribed(node: Node) -> list[Subscription]:
    """Returns every subscription of a node, whoever takes its messages."""
    batch = getattr(node, "batch", None)
    return [*node.subscriptions, *(() if batch is None else batch.subscriptions)]


def subscriptions(node: Node, makers: Callable[[str], list[Maker]]) -> list[Endpoint]:
    """Returns every subscription of a node, as it is asked."""
    prefix = node.get_namespace().rstrip("/") + "/"
    return [
        Endpoint(
            node=node,
            topic=(topic := each.topic_name.removeprefix(prefix)),
            kind=each.msg_type,
            take=taker(each, ODD_INFOS),
            raw=each.raw,
            makers=makers(topic),
        )
        for each in subscribed(node)
    ]


def taker(subscription: Subscription, odd: Sequence[int] = ()) -> Callable[[Any], Any]:
    """Returns what gives a subscription's callback a message as the executor does, with how it came if that is asked.

    Args:
        subscription: whose.
        odd: what a peer says, in turn with the truth, of when and as which of its messages it sent this one.
    """
    callback = subscription.callback
    if not isinstance(callback, WithInfo):
        return callback
    count, said = itertools.count(1), itertools.cycle([None, *odd])

    def take(message: Any) -> None:
        now_ns, number, lie = time.time_ns(), next(count), next(said)
        info = {
            "source_timestamp": now_ns if lie is None else lie,
            "received_timestamp": now_ns,
            "publication_sequence_number": number if lie is None else lie,
        }
        callback((message, info))

    return take


def services(node: Node, makers: Callable[[type], list[Maker]]) -> list[Endpoint]:
    """Returns every service of a node, as it is asked."""
    prefix = node.get_namespace().rstrip("/") + "/"
    return [
        Endpoint(
            node=node,
            topic=each.service_name.removeprefix(prefix),
            kind=each.srv_type.Request,
            take=lambda request, each=each: serialize_message(each.callback(request, each.srv_type.Response())),
            raw=False,
            makers=makers(each.srv_type),
        )
        for each in node.services
    ]


def fuzz(
    endpoint: Endpoint,
    count: int,
    seed: int,
    *,
    now_ns: Callable[[], int],
    work: Callable[[], None],
    sent: Callable[[int], None] = lambda _: None,
    memory: bool = False,
) -> Found:
    """Sends one endpoint messages until so many have reached its callback.

    rclpy drops what it cannot read: of spoilt requests and answers some 30 %.

    Args:
        endpoint: which.
        count: how many; fewer when hardly any of `TRIES` times as many can be read.
        seed: of them.
        now_ns: the node's time.
        work: lets the node go on with good messages for one period.
        sent: takes how many were sent, now and then.
        memory: whether to measure what it grows by; among few messages that takes longer than they do.
    """
    mutator, found = Mutator(seed), Found()
    corpus = mutator.corpus(endpoint.makers, min(count, CORPUS), now_ns())
    stamped = next(iter(endpoint.kind.get_fields_and_field_types().values()), "") in (
        "std_msgs/Header",
        "builtin_interfaces/Time",
    )
    begin_mib = 0.0
    for k in range(TRIES * count):
        if found.messages == count:
            break
        data = corpus[k % len(corpus)]
        if stamped:
            data = mutator.restamped(data, now_ns())
        if k >= len(corpus) and k % 2:
            data = mutator.bytes(data)
        if not _give(endpoint, data, found):
            continue
        if found.messages % WORK_EVERY == 0:
            work()
        if memory and found.messages == int(WARM * count) + 1:
            begin_mib = memory_mib()
        if found.messages % 500 == 0:
            sent(500)
    found.grown_mib = memory_mib() - begin_mib if memory else 0.0
    return found


def _give(endpoint: Endpoint, data: bytes, found: Found) -> bool:
    """Returns whether a message could be read, and was given to the callback."""
    message: Any = data
    if not endpoint.raw:
        try:
            message = deserialize_message(data, endpoint.kind)
        except Exception:  # the middleware drops what it cannot read before any callback
            return False
    found.messages += 1
    before = caught(endpoint.node)
    begin_ns = time.thread_time_ns()
    try:
        endpoint.take(message)
    except Exception as error:  # whatever a callback raises ends the process of its node
        found.exceptions += 1
        found.errors.setdefault(f"{type(error).__name__}: {error}"[:80], traceback.format_exc(limit=-6))
    found.took_us.append((time.thread_time_ns() - begin_ns) * 1e-3)
    if (now := caught(endpoint.node)) != before:
        found.exceptions += now - before
        found.errors.setdefault(endpoint.node.fault[:80], endpoint.node.fault)
    return True


def caught(node: Node) -> int:
    """Returns how many exceptions the guard of a node's callbacks has caught."""
    return int(getattr(node, "faults", 0))


def memory_mib() -> float:
    """Returns the memory of this process that is in use."""
    gc.collect()
    return psutil.Process(os.getpid()).memory_info().rss / 2**20


def sites() -> set[tuple[str, int, int]]:
    """Returns (file, first line, last line) of each place where a node subscribes, serves or asks."""
    found = set()
    for path in (ROOT / "ros2_nodes").rglob("*.py"):
        for call in ast.walk(ast.parse(path.read_text())):
            called = call.func if isinstance(call, ast.Call) else None
            if not isinstance(called, ast.Attribute) or called.attr not in MAKERS:
                continue
            if not isinstance(called.value, ast.Call):  # super(): the guard hands it on
                found.add((path.name, call.lineno, call.end_lineno or call.lineno))
    return found


@contextmanager
def watched_sites(used: set[tuple[str, int]]) -> Iterator[None]:
    """Adds to `used` (file, line) of the code that makes a node subscribe, serve or ask meanwhile."""
    guarded = {name: getattr(GuardedNode, name) for name in MAKERS}
    plain = {name: getattr(Node, name) for name in MAKERS if hasattr(Node, name)}

    def watch(make: Callable[..., Any]) -> Callable[..., Any]:
        def made(*args: Any, **options: Any) -> Any:
            frame: FrameType | None = sys._getframe()
            while frame is not None:
                used.add((Path(frame.f_code.co_filename).name, frame.f_lineno))
                frame = frame.f_back
            return make(*args, **options)

        return made

    with ExitStack() as patches:
        for owner, methods in ((GuardedNode, guarded), (Node, plain)):
            for name, make in methods.items():
                patches.enter_context(mock.patch.object(owner, name, watch(make)))
        yield


def modules() -> set[str]:
    """Returns the modules of ros2_nodes that are run as a node."""
    return {path.stem for path in (ROOT / "ros2_nodes").glob("*.py") if "run_node(" in path.read_text()}

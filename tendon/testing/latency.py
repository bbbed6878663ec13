"""Asserts that a stream of a node is fast enough."""

from __future__ import annotations

from collections.abc import Mapping

from tendon.core.checks import check_number, closest
from tendon.core.errors import ConfigError
from tendon.core.node_status import MeterReport
from tendon.ros2_nodes.base.meter import WINDOW_S
from tendon.testing.graph import GraphUnderTest


def assert_latency(graph: GraphUnderTest, node: str, meter: str, p99_ms: float) -> None:
    """Fails when the 99th percentile of a node's latency was ever larger, over 5 s each, since the graph was armed.

    In simulated time latencies are simulated ones: an inference takes `inference_delay_ms`, whatever it takes here. To
    measure a machine, start the graph with `clock="realtime"`. Where the graph had been armed before, it waits until
    5 s have passed since: what came earlier does not count.

    Args:
        graph: that was armed.
        node: such as "control_node".
        meter: of that node, such as "chunk": from the exposure of what a policy saw to the motion that follows.
        p99_ms: bound [ms].

    Raises:
        AssertionError: it was larger.
        ConfigError: there is no such node or meter, or the bound is no number above 0.
        GraphError: the node never said how long it took.
    """
    __tracebackhide__ = True
    check_number("p99_ms", p99_ms, above=0)
    if node not in graph.nodes:
        raise ConfigError(f"the graph has no node {node!r}{closest(node, graph.nodes)}")
    begin_ns = 0 if graph.armed_ns is None or graph.times_armed == 1 else graph.armed_ns + round(WINDOW_S * 1e9)

    def meters_of() -> list[Mapping[str, MeterReport]]:
        heard = graph.witness.statuses.copy()
        return [status.meters for at_ns, status in heard if status.node == node and at_ns >= begin_ns]

    graph.wait(lambda: bool(meters_of()), f"a report of {node}")
    reports = meters_of()
    known = sorted({name for meters in reports for name in meters})
    if meter not in known:
        raise ConfigError(f"{node} has no meter {meter!r}{closest(meter, known)}")
    latencies = [meters[meter].latency for meters in reports if meter in meters]
    worst = max((latency.p99_ms for latency in latencies if latency is not None), default=None)
    if worst is None:
        raise AssertionError(f"{node} measured no latency of {meter} in {len(reports)} reports: nothing came")
    if worst > p99_ms:
        raise AssertionError(f"{meter} of {node} took {worst:g} ms (p99 over 5 s, the worst), allowed are {p99_ms:g}")

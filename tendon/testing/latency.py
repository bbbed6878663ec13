"""Asserts that a stream of a node is fast enough."""

from __future__ import annotations

from tendon.core.checks import check_number, closest
from tendon.core.errors import ConfigError
from tendon.testing.graph import GraphUnderTest


def assert_latency(graph: GraphUnderTest, node: str, meter: str, p99_ms: float) -> None:
    """Fails when the 99th percentile of a node's latency was ever larger, over 5 s each, since the graph was armed.

    In simulated time latencies are simulated ones: an inference takes `inference_delay_ms`, and a busy machine changes
    nothing. To measure a machine, start the graph with `clock="realtime"`.

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
    graph.wait(lambda: any(status.node == node for status in graph.witness.statuses), f"a report of {node}")
    reports = [status.meters for status in graph.witness.statuses.copy() if status.node == node]
    known = sorted({name for meters in reports for name in meters})
    if meter not in known:
        raise ConfigError(f"{node} has no meter {meter!r}{closest(meter, known)}")
    latencies = [meters[meter].latency for meters in reports if meter in meters]
    worst = max((latency.p99_ms for latency in latencies if latency is not None), default=None)
    if worst is None:
        raise AssertionError(f"{node} measured no latency of {meter} in {len(reports)} reports: nothing came")
    if worst > p99_ms:
        raise AssertionError(f"{meter} of {node} took {worst:g} ms (p99 over 5 s, the worst), allowed are {p99_ms:g}")

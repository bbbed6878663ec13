"""What a node measures of one stream."""

from __future__ import annotations

from tendon.ros2_nodes.base.meter import Meter

MS = 1_000_000


def test_latencies_of_something_else_are_forgotten_and_counts_are_not() -> None:
    meter = Meter(lambda: 10**9)
    meter.add(900 * MS)
    meter.drop()
    meter.forget()
    assert meter.report().latency is None
    meter.add(5 * MS)
    report = meter.report()
    assert report.latency is not None and report.latency.max_ms == 5.0
    assert (meter.total, meter.drops) == (2, 1)

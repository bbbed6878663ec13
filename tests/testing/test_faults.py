"""Each fault of a running graph leads to what the page on tests says of it, and goes away with its block."""

from __future__ import annotations

import pytest

from tendon.testing import (
    GraphUnderTest,
    assert_latency,
    assert_limits,
    assert_no_stop,
    assert_rest,
    assert_stop,
    freeze_cameras,
    jam,
    kill,
    pause,
)
from tendon.testing.plugin import StartGraph

pytestmark = pytest.mark.graph

DELAY_MS = 50


@pytest.fixture(scope="module")
def running(module_tendon_graph: StartGraph) -> GraphUnderTest:
    """One graph for all faults. Its task takes 4 s of motion, and no fault uses up more than one."""
    return module_tendon_graph(policy="tabletop", scene=100_003, inference_delay_ms=DELAY_MS)


@pytest.fixture
def graph(running: GraphUnderTest) -> GraphUnderTest:
    """Armed and in motion, whatever the fault before left."""
    running.arm()
    running.say(running.instruction)
    running.wait_until_moving(within_s=3.0)
    return running


def test_a_node_that_is_killed_is_a_stop_and_is_back_after_it(graph: GraphUnderTest) -> None:
    with kill(graph, "control_node") as fault:
        assert assert_stop(graph, "heartbeat", within_s=1.0, after=fault) > 0.0
        assert_rest(graph, within_s=2.0, after=fault)
    assert_limits(graph)
    with pytest.raises(AssertionError, match="stopped for nothing: heartbeat after"):
        assert_no_stop(graph)


def test_a_jam_is_a_stop_and_another_cause_is_told(graph: GraphUnderTest) -> None:
    with jam(graph, "panda_joint2") as fault:
        assert_stop(graph, "tracking", within_s=3.0, after=fault)
        with pytest.raises(AssertionError, match=r"no stop for camera within 60 s of panda_joint2 jammed: tracking"):
            assert_stop(graph, "camera", within_s=60.0, after=fault)
    assert_limits(graph)


def test_frozen_pictures_and_cameras_that_hang_bring_it_to_rest(graph: GraphUnderTest) -> None:
    with freeze_cameras(graph) as fault:
        assert_rest(graph, within_s=3.0, after=fault)
    graph.arm()
    graph.say(graph.instruction)
    graph.wait_until_moving(within_s=3.0)
    with pause(graph, "camera_node") as fault:
        assert_rest(graph, within_s=1.0, after=fault)
        assert_stop(graph, "camera", within_s=4.0, after=fault)
    assert_limits(graph)


def test_without_a_fault_there_is_no_stop_and_latency_is_what_was_asked_for(graph: GraphUnderTest) -> None:
    graph.run_for(1.0)
    assert_latency(graph, "policy_node", "chunk", p99_ms=DELAY_MS + 30)
    with pytest.raises(AssertionError, match="chunk of policy_node took"):
        assert_latency(graph, "policy_node", "chunk", p99_ms=DELAY_MS - 1)
    assert_no_stop(graph)
    assert_limits(graph)

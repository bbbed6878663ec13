"""The arm reaches the ball through the whole graph, and comes to rest when its policy dies."""

from __future__ import annotations

import pytest
from my_arm import POLICY, ROBOT

from tendon.testing import (
    GraphUnderTest,
    assert_latency,
    assert_limits,
    assert_no_stop,
    assert_rest,
    assert_success,
    kill,
)
from tendon.testing.plugin import RunEpisodes, StartGraph


@pytest.fixture(scope="module")
def graph(module_tendon_graph: StartGraph) -> GraphUnderTest:
    """One graph for both tests: to start it takes longer than they do. An inference takes 50 ms on any machine."""
    return module_tendon_graph(robot=ROBOT, policy=POLICY, suite="reach", scene=100_003, inference_delay_ms=50)


def test_when_the_policy_dies_in_motion_the_arm_comes_to_rest_inside_its_limits(graph: GraphUnderTest) -> None:
    graph.arm()
    graph.say(graph.instruction)
    graph.wait_until_moving(within_s=5.0)
    with kill(graph, "policy_node") as fault:
        assert_rest(graph, within_s=2.0, after=fault)
    assert_limits(graph)


def test_it_reaches_the_ball(graph: GraphUnderTest) -> None:
    graph.arm()
    graph.say(graph.instruction)
    graph.wait_until_done(within_s=10.0)
    assert_limits(graph)
    assert_no_stop(graph)
    assert_latency(graph, "control_node", "chunk", p99_ms=100.0)


def test_it_reaches_most_balls(tendon_episode: RunEpisodes) -> None:
    """Without ROS, so that many scenes cost little: eight of eight show 0.6."""
    scenes = range(100_000, 100_008)
    found = tendon_episode(POLICY, seeds=scenes, suite="reach", robot=str(ROBOT), timing="overwrite")
    assert_success(found, at_least=0.6)

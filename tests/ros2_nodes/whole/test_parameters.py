"""Every node of the running graph answers for its parameters: all are described, and only what may be set is set."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from rcl_interfaces.srv import DescribeParameters, ListParameters, SetParameters
from rclpy.parameter import Parameter

from tendon.graph.description import EXIT_REFUSED
from tendon.graph.parameters import NODES, PARAMETERS, find_parameter
from tests.ros2_nodes.running_graph import RunningGraph

pytestmark = pytest.mark.graph

OF_ROS = {"use_sim_time", "start_type_description_service"}


def ask(graph: RunningGraph, service: type, name: str, request: Any) -> Any:
    client = graph.operator.node.create_client(service, name)
    try:
        graph.wait(client.service_is_ready, name)
        future = client.call_async(request)
        graph.wait(future.done, f"an answer of {name}")
        return future.result()
    finally:
        graph.operator.node.destroy_client(client)


def names_of(graph: RunningGraph, node: str) -> set[str]:
    return set(ask(graph, ListParameters, f"{node}/list_parameters", ListParameters.Request()).result.names) - OF_ROS


def set_parameter(graph: RunningGraph, node: str, name: str, value: object) -> tuple[bool, str]:
    request = SetParameters.Request(parameters=[Parameter(name, value=value).to_parameter_msg()])
    result = ask(graph, SetParameters, f"{node}/set_parameters", request).results[0]
    return result.successful, result.reason


@pytest.mark.parametrize("node", NODES)
def test_a_node_has_the_parameters_that_are_written_down_described_and_read_only_where_they_are(
    graph: RunningGraph, node: str
) -> None:
    """`ros2 param list` and `ros2 param describe` say what `tendon.graph.parameters` says, for every node."""
    names = sorted(names_of(graph, node))
    assert set(names) == {p.name for p in PARAMETERS if node in p.nodes and not p.name.endswith(".")}
    request = DescribeParameters.Request(names=names)
    for descriptor in ask(graph, DescribeParameters, f"{node}/describe_parameters", request).descriptors:
        known = find_parameter(descriptor.name)
        assert known is not None
        assert descriptor.description == known.description
        assert descriptor.read_only is not known.tunable


@pytest.mark.parametrize("node", NODES)
def test_nobody_changes_robot_or_clock_of_a_running_node(graph: RunningGraph, node: str) -> None:
    """Another robot's limits, or a jump of time, in mid-motion."""
    done, reason = set_parameter(graph, node, "robot", "ur5e")
    assert not done and "read-only" in reason
    done, reason = set_parameter(graph, node, "use_sim_time", True)
    assert not done and "fixed while the node runs" in reason


def test_what_may_be_set_is_set_and_what_does_not_fit_is_refused_with_the_reason(graph: RunningGraph) -> None:
    """The simulator's joint that does not follow, in the graph's own words."""
    assert set_parameter(graph, "sim_node", "jammed", "panda_joint2") == (True, "")
    assert set_parameter(graph, "sim_node", "jammed", "") == (True, "")
    assert set_parameter(graph, "sim_node", "jammed", "elbow") == (False, "there is no joint elbow")
    assert not set_parameter(graph, "sim_node", "scene", "one")[0]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["-p", "robto:=panda"], "refused: unknown parameter robto; did you mean robot?"),
        (["-p", "robot:=5"], "refused: parameter robot is 5, a int, must be a str"),
        (["--params-file", "nowhere.yaml"], "refused: ROS does not start: "),
    ],
)
def test_a_node_started_with_a_wrong_parameter_refuses_in_one_line(given: list[str], words: str) -> None:
    """`ros2 run tendon control_node --ros-args -p robto:=ur5e` does not run with the default robot."""
    command = [sys.executable, "-m", "tendon.ros2_nodes.control_node", "--ros-args", *given]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == EXIT_REFUSED, result.stderr
    assert words in result.stderr and "Traceback" not in result.stderr

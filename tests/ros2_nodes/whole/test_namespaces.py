"""Two graphs in one ROS domain, in two namespaces, run beside each other and know nothing of one another."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tendon.core.errors import ConfigError
from tendon.core.modes import Mode
from tendon.graph.description import EXIT_REFUSED, describe
from tendon.graph.namespace import NAMESPACE_VARIABLE, own_namespace, parse_namespace, place_name
from tendon.safety.latch import state_folder
from tests.ros2_nodes.running_graph import RunningGraph


@pytest.mark.parametrize("text", ["left", "/left", "left/arm", "_a1", ""])
def test_a_namespace_may_have_parts_and_a_slash_in_front(text: str) -> None:
    assert parse_namespace(text) == text.removeprefix("/")


@pytest.mark.parametrize("text", ["1st", "left arm", "left/", "//left", "a__b", "links-oben", "ü", "../x"])
def test_a_namespace_that_ros_does_not_allow_is_refused_before_anything_starts(text: str) -> None:
    with pytest.raises(ConfigError, match="namespace is"):
        describe({"policy": "none", "namespace": text})


def test_every_process_of_a_graph_gets_the_namespace_and_a_clock_of_its_own() -> None:
    """ROS gives /clock no namespace, so two simulations in one domain would share their time."""
    graph = describe({"policy": "none", "namespace": "left", "arm": "true"})
    assert graph.environment[NAMESPACE_VARIABLE] == "left"
    for process in graph.processes:
        command = " ".join(process.command)
        assert "-r __ns:=/left" in command and "-r /clock:=clock" in command
    assert not describe({"policy": "none", "backend": "hardware", "namespace": "left"}).processes[0].remappings


def test_without_the_argument_it_is_that_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(NAMESPACE_VARIABLE, "/right")
    assert own_namespace() == "right"
    assert describe({"policy": "none"}).processes[0].namespace == "right"
    assert describe({"policy": "none", "namespace": "left"}).processes[0].namespace == "left"


def test_files_of_one_graph_are_not_taken_for_those_of_another() -> None:
    """The latch of one arm must not latch the other, and old logs are removed by the beginning of their names."""
    names = [place_name("panda", 0, namespace) for namespace in ("/", "/left", "/left/arm", "/left_arm", "/right")]
    assert len(set(names)) == len(names)
    assert not any(other.startswith(f"{name}-") for name in names for other in names if other != name)


@pytest.fixture(scope="module")
def graphs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RunningGraph, RunningGraph]]:
    folder = tmp_path_factory.mktemp("namespaces")
    arguments = ("backend:=mock", "policy:=none")
    running = [RunningGraph(folder / name, *arguments, f"namespace:={name}") for name in ("left", "right")]
    for graph in running:
        graph.ready()
    yield running[0], running[1]
    for graph in running:
        graph.end()


def latched(name: str) -> str:
    """Returns the state that the latch file of a namespace holds."""
    file = state_folder() / f"latch-{place_name('panda', int(os.environ['ROS_DOMAIN_ID']), name)}.json"
    return str(json.loads(file.read_text())["state"])


def tendon(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tendon.cli", *arguments], capture_output=True, text=True, timeout=400, check=False
    )


@pytest.mark.graph
def test_each_obeys_its_own_operator_only(graphs: tuple[RunningGraph, RunningGraph]) -> None:
    """Arming, motion, a stop and its latch reach one robot, and the other stands as it stood."""
    left, right = graphs
    left.set_in_motion()
    assert right.mode() is Mode.STANDBY and not right.moving()
    right.set_in_motion()
    left.stop()
    left.wait(lambda: not left.moving(), "the left one at rest")
    right.wait(right.moving, "the right one goes on")
    assert right.mode() is Mode.RUNNING
    left.wait(lambda: latched("left") == "latched", "the latch on disk")
    assert latched("right") == "armed"
    right.hold_still()


@pytest.mark.graph
def test_commands_reach_the_graph_of_their_namespace(graphs: tuple[RunningGraph, RunningGraph]) -> None:
    """`tendon --namespace left safety reset`."""
    left, right = graphs
    left.hold_still()
    left.stop()
    before = right.mode()
    left.wait(lambda: tendon("--namespace", "left", "safety", "reset").returncode == 0, "the reset")
    left.wait(lambda: left.mode() is Mode.STANDBY, "standby")
    assert right.mode() == before


@pytest.mark.laws
@pytest.mark.graph
def test_without_a_namespace_there_is_no_graph_and_a_second_in_one_is_refused(
    graphs: tuple[RunningGraph, RunningGraph],
) -> None:
    assert all(graph.alive() for graph in graphs)
    with ThreadPoolExecutor() as at_once:  # for each looks around for long before it gives up
        reset = at_once.submit(tendon, "safety", "reset")
        again = at_once.submit(tendon, "run", "policy:=none", "namespace:=left")
    assert reset.result().returncode == EXIT_REFUSED
    assert again.result().returncode == EXIT_REFUSED
    assert "namespace left, is busy" in again.result().stderr

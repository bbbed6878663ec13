"""The launch file starts what `tendon run` starts, refuses what it refuses, and ends with an error when it would.

ROS's `launch` is not on PyPI: these tests put stand-ins in its place that keep what they are given, or do what launch
does with it. What the real one does with this file is said in docs/how-to/robot.md, and was tried by hand.
"""

from __future__ import annotations

import runpy
import sys
import types
from collections.abc import Callable
from typing import Any

import pytest

from tendon.core.errors import ConfigError, StoppedError
from tendon.graph.arguments import ARGUMENTS
from tendon.graph.description import EXIT_REFUSED, RESPAWN_LIMIT, describe, teleop_process
from tests import ROOT
from tests.ros2_nodes.tiny_bundle import write_tiny_bundle

LAUNCH_FILE = ROOT / "launch" / "bringup.launch.py"


class Kept:
    def __init__(self, *args: Any, **settings: Any) -> None:
        self.args, self.settings = args, settings


class Context:
    """What launch hands to an action: the command line's arguments, and whether it ends already."""

    def __init__(self, *argv: str) -> None:
        self.argv, self.is_shutdown = list(argv), False


Start = Callable[..., list[Kept]]


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(write_tiny_bundle(tmp_path_factory.mktemp("tiny")))


@pytest.fixture
def launch(monkeypatch: pytest.MonkeyPatch) -> Start:
    """Returns a function that runs the launch file as `ros2 launch tendon bringup.launch.py ARGUMENTS` does."""

    def run(*argv: str, command: tuple[str, ...] = ("tendon", LAUNCH_FILE.name)) -> list[Kept]:
        given = dict(text.split(":=", 1) for text in argv)
        defaults = {argument.name: argument.default for argument in ARGUMENTS}
        configured = {
            name: types.SimpleNamespace(perform=lambda _, v=v: v) for name, v in {**defaults, **given}.items()
        }
        modules: dict[str, Any] = {
            "launch": types.SimpleNamespace(LaunchContext=Context, LaunchDescription=list),
            "launch.actions": types.SimpleNamespace(DeclareLaunchArgument=Kept, OpaqueFunction=Kept),
            "launch.events": types.SimpleNamespace(),
            "launch.events.process": types.SimpleNamespace(ProcessExited=object),
            "launch.substitutions": types.SimpleNamespace(LaunchConfiguration=configured.__getitem__),
            "launch_ros": types.SimpleNamespace(),
            "launch_ros.actions": types.SimpleNamespace(Node=Kept),
            "launch_ros.parameter_descriptions": types.SimpleNamespace(
                ParameterValue=lambda value, value_type: (value, value_type)
            ),
        }
        for name, module in modules.items():
            monkeypatch.setitem(sys.modules, name, module)
        monkeypatch.setattr(sys, "argv", ["ros2", "launch", *command, *argv])
        *declared, opaque = runpy.run_path(str(LAUNCH_FILE))["generate_launch_description"]()
        assert [d.args[0] for d in declared] == [argument.name for argument in ARGUMENTS]
        assert [d.settings["default_value"] for d in declared] == [argument.default for argument in ARGUMENTS]
        nodes: list[Kept] = opaque.settings["function"](Context(*argv))
        return nodes

    return run


def test_it_declares_and_starts_exactly_the_description(bundle: str, launch: Start) -> None:
    """With the types that the nodes declare: launch makes a number of the text "12" unless it is told not to."""
    given = {"policy": bundle, "instruction": "12", "arm": "true"}
    graph = describe(given)
    nodes = launch(*(f"{name}:={value}" for name, value in given.items()))
    assert [n.settings["executable"] for n in nodes] == [p.executable for p in graph.processes]
    assert [n.settings["name"] for n in nodes] == [p.name for p in graph.processes]
    for node, process in zip(nodes, graph.processes, strict=True):
        (settings,) = node.settings["parameters"]
        assert settings == {name: (value, type(value)) for name, value in process.parameters.items()}
        assert node.settings["respawn"] is not process.once
        assert node.settings["additional_env"] == graph.environment


def test_every_process_is_an_executable_that_is_installed(bundle: str) -> None:
    """What launch's `Node` and `ros2 run` look for under lib/tendon."""
    given = {"policy": bundle, "arm": "true", "record": "true"}
    graphs = [describe({**given, "backend": backend}) for backend in ("sim", "mock")]
    hand = teleop_process(robot="panda", backend="sim", simulated_time=True, devices=["gamepad"])
    processes = [*(process for graph in graphs for process in graph.processes), hand]
    scripts = {script.name: script for script in (ROOT / "scripts").iterdir()}
    assert set(scripts) == {process.executable for process in processes}
    for process in processes:
        assert scripts[process.executable].stat().st_mode & 0o111
        assert f"from {process.module} import main" in scripts[process.executable].read_text()


@pytest.mark.parametrize("command", [("tendon", LAUNCH_FILE.name), (str(LAUNCH_FILE),)], ids=["package", "path"])
def test_a_misspelt_argument_is_refused_with_the_closest_known(launch: Start, command: tuple[str, ...]) -> None:
    """Launch itself ignores it, and the graph would run with the default robot."""
    with pytest.raises(ConfigError, match=r"unknown argument robto; did you mean robot\?"):
        launch("policy:=none", "robto:=ur5e", command=command)


def test_arguments_of_launch_itself_and_of_a_file_that_includes_this_one_are_not_ours_to_refuse(launch: Start) -> None:
    assert launch("policy:=none", "sigterm_timeout:=10")
    assert launch("policy:=none", "table_height:=0.7", command=("my_robot", "all.launch.py"))


def test_a_node_that_refuses_ends_the_launch_with_an_error(launch: Start) -> None:
    """It was restarted three times, and launch ended with code 0."""
    died = launch("policy:=none")[0].settings["on_exit"]
    with pytest.raises(StoppedError, match="sim_node ended with code 2; ending the graph"):
        died(types.SimpleNamespace(returncode=EXIT_REFUSED), Context())


def test_a_node_that_keeps_dying_ends_the_launch_and_one_that_is_told_to_end_does_not(launch: Start) -> None:
    died = launch("policy:=none")[0].settings["on_exit"]
    killed = types.SimpleNamespace(returncode=-9)
    for _ in range(RESPAWN_LIMIT):
        died(killed, Context())
    ending = Context()
    ending.is_shutdown = True
    died(killed, ending)
    with pytest.raises(StoppedError, match="was killed by SIGKILL, for the 4th time in 60 s"):
        died(killed, Context())


def test_the_process_that_arms_may_end_when_it_has_armed_and_not_otherwise(launch: Start) -> None:
    died = launch("policy:=none", "arm:=true")[-1].settings["on_exit"]
    died(types.SimpleNamespace(returncode=0), Context())
    with pytest.raises(StoppedError, match="arm_once ended with code 1"):
        died(types.SimpleNamespace(returncode=1), Context())

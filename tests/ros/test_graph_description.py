"""The graph as data: arguments, processes, and that the launch file and `tendon run` cannot differ."""

from __future__ import annotations

import json
import runpy
import sys
import types
from pathlib import Path
from typing import Any

import pytest
import yaml
from tiny_bundle import write_tiny_bundle

from tendon.core.errors import ConfigError
from tendon.graph.arguments import ARGUMENTS, parse_arguments
from tendon.graph.description import RESPAWN_LIMIT, describe
from tendon.graph.domain import free_domain, in_use

LAUNCH_FILE = Path(__file__).parents[2] / "launch" / "bringup.launch.py"


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(write_tiny_bundle(tmp_path_factory.mktemp("tiny")))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("robot=panda", "not of the form key:=value"),
        ("robto:=panda", "unknown argument robto; did you mean robot?"),
        ("backend:=simm", "did you mean sim?"),
        ("arm:=yes", "true, false"),
        ("scene:=-1", "whole number"),
        ("scene:=1e3", "whole number"),
        ("engine:=tensort", "did you mean tensorrt?"),
        ("engine:=cpu:fp16", "engine:=cpu:fp16 is not allowed"),
        ("engine:=", "known: best, cpu, "),
    ],
)
def test_a_wrong_argument_is_an_error_that_names_the_closest_known(text: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words.replace("?", r"\?")):
        parse_arguments([text])


def test_a_repeated_argument_is_an_error() -> None:
    with pytest.raises(ConfigError, match="given twice"):
        parse_arguments(["robot:=panda", "robot:=panda"])


def test_lockstep_on_hardware_is_refused() -> None:
    with pytest.raises(ConfigError, match="lockstep"):
        describe({"backend": "hardware", "clock": "lockstep", "policy": "none"})


def test_a_missing_bundle_is_refused_before_anything_starts() -> None:
    with pytest.raises(ConfigError, match="no policy bundle at /nowhere"):
        describe({"policy": "/nowhere"})


def test_a_file_that_names_a_server_is_a_policy_too(tmp_path: Path) -> None:
    """Its path reaches the node; one that is not there is refused."""
    file = tmp_path / "remote.yaml"
    with pytest.raises(ConfigError, match=r"no file .*remote\.yaml"):
        describe({"policy": str(file)})
    file.write_text("kind: tendon")
    node = next(each for each in describe({"policy": str(file)}).processes if each.name == "policy_node")
    assert node.parameters["bundle"] == str(file)


def test_an_engine_for_a_policy_server_is_refused_but_not_for_a_standby_bundle(bundle: str, tmp_path: Path) -> None:
    file = tmp_path / "remote.yaml"
    file.write_text("kind: tendon")
    with pytest.raises(ConfigError, match=r"engine:=cpu has no graph to run: remote\.yaml names a policy server"):
        describe({"policy": str(file), "engine": "cpu"})
    node = describe({"policy": str(file), "standby": bundle, "engine": "cpu"}).processes[-1]
    assert (node.parameters["engine"], node.parameters["standby"]) == ("cpu", bundle)


def test_hardware_starts_no_simulator_and_arming_is_one_process_that_never_respawns(bundle: str) -> None:
    graph = describe({"backend": "hardware", "policy": bundle, "arm": "true"})
    assert [p.name for p in graph.processes] == ["safety_monitor", "control_node", "policy_node", "arm_once"]
    assert [p.name for p in graph.processes if p.once] == ["arm_once"]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, "tabletop"),
        ({"backend": "hardware"}, ""),
        ({"environment": "none"}, ""),
        ({"backend": "hardware", "environment": "cell.yaml"}, "cell.yaml"),
    ],
)
def test_filter_and_monitor_are_told_what_stands_around_the_robot(given: dict[str, str], expected: str) -> None:
    told = {p.name: p.parameters.get("environment") for p in describe({"policy": "none", **given}).processes}
    assert told.pop("control_node") == told.pop("safety_monitor") == expected
    assert set(told.values()) <= {None}


def test_the_policy_node_is_told_the_engine(bundle: str) -> None:
    told = [
        describe({"policy": bundle, **given}).processes[-1].parameters["engine"]
        for given in ({}, {"engine": "openvino:bf16"})
    ]
    assert told == ["best", "openvino:bf16"]


@pytest.mark.parametrize("words", ['put "it": in', "yes", "12", "a: b # c", "naïve 青"])
def test_an_instruction_of_any_characters_stays_the_same_text_as_a_ros_parameter(bundle: str, words: str) -> None:
    process = describe({"policy": bundle, "instruction": words}).processes[-1]
    (setting,) = (text for text in process.command if text.startswith("instruction:="))
    value = setting.partition(":=")[2]
    assert yaml.safe_load(value) == json.loads(value) == words


class _Recorded:
    def __init__(self, *args: Any, **settings: Any) -> None:
        self.args, self.settings = args, settings


def test_the_launch_file_declares_and_starts_exactly_the_description(
    bundle: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {"policy": bundle, "instruction": "left", "arm": "true", "clock": "lockstep"}
    fake: dict[str, Any] = {
        "launch": types.SimpleNamespace(LaunchContext=object, LaunchDescription=lambda entities: entities),
        "launch.actions": types.SimpleNamespace(
            DeclareLaunchArgument=_Recorded, ExecuteProcess=_Recorded, OpaqueFunction=_Recorded
        ),
        "launch.substitutions": types.SimpleNamespace(
            LaunchConfiguration=lambda name: types.SimpleNamespace(
                perform=lambda _: given.get(name, next(a.default for a in ARGUMENTS if a.name == name))
            )
        ),
    }
    for name, module in fake.items():
        monkeypatch.setitem(sys.modules, name, module)
    *declared, opaque = runpy.run_path(str(LAUNCH_FILE))["generate_launch_description"]()
    assert [d.args[0] for d in declared] == [a.name for a in ARGUMENTS]
    assert [d.settings["default_value"] for d in declared] == [a.default for a in ARGUMENTS]
    graph = describe(given)
    actions = opaque.settings["function"](None)
    assert [a.settings["cmd"] for a in actions] == [p.command for p in graph.processes]
    assert [a.settings["respawn"] for a in actions] == [not p.once for p in graph.processes]
    assert all(a.settings["respawn_max_retries"] == RESPAWN_LIMIT for a in actions)
    assert all(a.settings["additional_env"] == graph.environment for a in actions)


def test_the_free_domain_is_one_nobody_is_in() -> None:
    assert not in_use(free_domain())

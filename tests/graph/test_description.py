"""The graph as data: arguments and processes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from tendon.core.errors import ConfigError
from tendon.graph.arguments import parse_arguments
from tendon.graph.description import describe
from tendon.graph.domain import free_domain, in_use
from tests.ros2_nodes.tiny_bundle import write_tiny_bundle


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


def test_simulated_time_on_hardware_is_refused() -> None:
    with pytest.raises(ConfigError, match="clock:=simulated needs backend:=sim or backend:=mock"):
        describe({"backend": "hardware", "clock": "simulated", "policy": "none"})


@pytest.mark.parametrize("backend", ["sim", "mock", "hardware"])
def test_simulated_time_is_the_default_of_what_stands_in_for_a_robot_and_of_nothing_else(backend: str) -> None:
    given = {"backend": backend, "policy": "none"}
    assert describe(given).simulated_time == (backend != "hardware")
    assert not describe({**given, "clock": "realtime"}).simulated_time


@pytest.mark.parametrize(("backend", "owner"), [("sim", "sim_node"), ("mock", "mock_node")])
def test_one_node_owns_simulated_time_and_the_others_follow_it(backend: str, owner: str) -> None:
    processes = describe({"backend": backend, "policy": "none", "speed": "0.5"}).processes
    owners = {each.name: each.parameters["speed"] for each in processes if each.parameters.get("simulated_time")}
    assert owners == {owner: 0.5}
    assert [each.name for each in processes if not each.parameters.get("use_sim_time")] == [owner]


@pytest.mark.parametrize("text", ["speed:=-1", "speed:=nan", "speed:=fast", "inference_delay_ms:=soon"])
def test_a_number_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="must be a number of at least 0"):
        parse_arguments([text])


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
    assert graph.processes[-1].parameters == {"for_policy": True}
    alone = describe(parse_arguments(["backend:=mock", "policy:=none", "arm:=true"]))
    assert alone.processes[-1].parameters == {"for_policy": False}


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


def test_the_free_domain_is_one_nobody_is_in() -> None:
    assert not in_use(free_domain())

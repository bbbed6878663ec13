"""Parameters from a YAML file: arguments of the graph under /**, a node's own under its name, and nothing unknown."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tendon.core.errors import ConfigError
from tendon.graph.arguments import parse_arguments
from tendon.graph.description import describe
from tests.ros2_nodes.tiny_bundle import write_tiny_bundle

Write = Callable[[str], str]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a file of parameters and returns the argument that names it."""

    def write_file(text: str) -> str:
        file = tmp_path / "cell.yaml"
        file.write_text(text)
        return f"params_file:={file}"

    return write_file


def parameters(*arguments: str) -> dict[str, dict[str, object]]:
    """Returns each node's parameters."""
    return {process.name: dict(process.parameters) for process in describe(parse_arguments(arguments)).processes}


def test_arguments_of_the_graph_reach_every_node_and_what_is_typed_wins(write: Write) -> None:
    """One file says what a cell is; the command line says what is different today."""
    given = write("/**: {ros__parameters: {robot: fr3, policy: none, scene: 100008, gui: false, speed: 0.5}}")
    told = parameters(given)
    assert {node["robot"] for node in told.values()} == {"fr3"} and "policy_node" not in told
    assert (told["sim_node"]["scene"], told["sim_node"]["speed"]) == (100008, 0.5)
    assert {node["robot"] for node in parameters(given, "robot:=panda").values()} == {"panda"}


def test_a_nodes_own_parameters_reach_that_node_with_their_types(write: Write, tmp_path: Path) -> None:
    """In groups or with a dot; a whole number steers as a number."""
    bundle = write_tiny_bundle(tmp_path / "tiny")
    given = write(
        "/**: {ros__parameters: {muted: false}}\n"
        "sim_node: {ros__parameters: {jammed: panda_joint2}}\n"
        "/**/policy_node: {ros__parameters: {steer: {speed: 1}}}\n"
    )
    told = parameters(given, f"policy:={bundle}")
    assert told["sim_node"]["jammed"] == "panda_joint2" and told["sim_node"]["muted"] is False
    assert told["policy_node"]["steer.speed"] == 1.0 and isinstance(told["policy_node"]["steer.speed"], float)
    assert not {"jammed", "muted"} & set(told["control_node"])


def test_one_file_serves_simulation_and_hardware(write: Write) -> None:
    """What it says of nodes that are not started matters to nobody."""
    given = write("sim_node: {ros__parameters: {jammed: panda_joint2}}")
    assert set(parameters(given, "backend:=hardware", "policy:=none")) == {"safety_monitor", "control_node"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("/**: {ros__parameters: {robto: fr3}}", "has no parameter robto; did you mean robot?"),
        ("/**: {ros__parameters: {backend: simm}}", "backend:=simm is not allowed; did you mean sim?"),
        ("/**: {ros__parameters: {params_file: a.yaml}}", "has no parameter params_file"),
        ("/**: {ros__parameters: {use_sim_time: true}}", "has no parameter use_sim_time"),
        ("sim_nod: {ros__parameters: {jammed: a}}", "no node is called sim_nod; did you mean sim_node?"),
        ("sim_node: {ros__parameters: {jamed: a}}", "sim_node has no parameter jamed; did you mean jammed?"),
        ("control_node: {ros__parameters: {jammed: a}}", "control_node has no parameter jammed"),
        ("control_node: {ros__parameters: {robot: fr3}}", "control_node gets robot from the graph: say it under /"),
        ("mock_node: {ros__parameters: {lag_s: slow}}", "lag_s is 'slow', must be a finite number"),
        ("mock_node: {ros__parameters: {noise: true}}", "noise is True, must be a finite number"),
        ("policy_node: {ros__parameters: {steer: {speed: .nan}}}", "steer.speed is nan, must be a finite number"),
        ("sim_node: {jammed: a}", "section sim_node must hold ros__parameters and nothing else"),
        (
            "sim_node: {ros__parameters: {jammed: [a, b]}}",
            "jammed is ['a', 'b'], must be true, false, a number or text",
        ),
        ("sim_node: {ros__parameters: {a: 1}}\n/sim_node: {ros__parameters: {b: 1}}", "two sections for sim_node"),
        ("[1, 2]", "must hold sections"),
        ("a: b: c", "cell.yaml"),
        ("", "must hold sections"),
    ],
)
def test_what_is_wrong_in_a_file_is_said_before_anything_starts(write: Write, text: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parameters(write(text), "policy:=none")
    assert words in str(caught.value)


def test_a_file_that_is_not_there_is_named() -> None:
    with pytest.raises(ConfigError, match=r"nowhere\.yaml"):
        parse_arguments(["params_file:=nowhere.yaml"])

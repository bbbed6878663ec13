"""Robot, backend, bundle and scene that do not fit are one line, before any process starts."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tendon.cli import main
from tendon.core import loopback
from tendon.core.errors import TendonError
from tendon.core.paths import share_folder
from tendon.graph.description import describe
from tendon.graph.preflight import preflight
from tests.ros2_nodes.tiny_bundle import write_tiny_bundle

ROBOTS = ("panda", "fr3", "ur5e", "ur10e", "xarm7", "so101", "g1_arms", "talos_upper")


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_bundle(tmp_path_factory.mktemp("tiny"))


def panda(folder: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    """Writes a Panda's profile with a change."""
    home = share_folder() / "robots" / "panda"
    values = yaml.safe_load((home / "profile.yaml").read_text())
    values |= {key: str(home / values[key]) for key in ("urdf", "collisions")}
    change(values)
    path = folder / "profile.yaml"
    path.write_text(yaml.safe_dump(values))
    return path


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


SERVER = """
kind: openpi
url: ws://gpu:8000
policy:
  name: theirs
  robot: {robot}
  cameras: []
  state: {{state: [{{kind: joint_position, group: arm}}]}}
  action: {{space: joint_position, rows: 10, step_s: 0.05}}
  answer: {{actions: 7}}
"""


@pytest.mark.parametrize("robot", ROBOTS)
@pytest.mark.parametrize("backend", ["mock", "hardware"])
def test_every_shipped_robot_fits_every_backend_that_takes_it(robot: str, backend: str) -> None:
    given = {"robot": robot, "backend": backend, "policy": "none"}
    assert preflight(given) == describe(given)


def test_what_fits_is_the_graph_that_is_described(bundle: Path) -> None:
    for given in ({}, {"policy": str(bundle), "scene": "7", "family": "stack"}, {"engine": "cpu"}, {"arm": "true"}):
        assert preflight(given) == describe(given)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"robot": "pnada"}, r"no robot profile at .*; did you mean panda\?"),
        ({"robot": "ur5e"}, "bundle tabletop: robot is panda, expected ur5e.*policy:=none"),
        ({"robot": "ur5e", "backend": "mock"}, "bundle tabletop: robot is panda, expected ur5e.*policy:=none"),
        ({"robot": "fr3", "backend": "hardware"}, "bundle tabletop: robot is panda, expected fr3"),
        ({"backend": "mock", "policy": "none", "scene": "7"}, "scene:=7 needs backend:=sim, and backend is mock"),
        ({"backend": "hardware", "policy": "none", "family": "stack"}, "family:=stack needs backend:=sim"),
        ({"backend": "mock", "policy": "none", "gui": "true"}, "gui:=true needs backend:=sim"),
        (
            {"robot": "ur5e", "policy": "none", "suite": "tabletop"},
            "^suite:=tabletop: the suite tabletop needs a gripper, and profile ur5e names none",
        ),
        ({"backend": "mock", "policy": "expert"}, "policy:=expert knows what only a simulator knows"),
        ({"family": "stak"}, "^family:=stak: unknown task family stak"),
        ({"environment": "tabletopp"}, "no environment at .*known there: .*tabletop"),
        ({"policy": "nowhere"}, "no policy bundle at nowhere"),
        ({"policy": "nowhere.yaml"}, r"no file nowhere\.yaml"),
        ({"standby": "nowhere"}, "no policy bundle at nowhere"),
        ({"standby": "tabletop"}, "policy and standby are both called tabletop"),
        ({"policy": "none", "standby": "tabletop"}, "standby:=tabletop needs a policy, and policy is none"),
        ({"policy": "none", "instruction": "go"}, "instruction:=go needs a policy"),
    ],
)
def test_a_combination_that_cannot_be_names_what_and_the_way_out(given: dict[str, str], says: str) -> None:
    with pytest.raises(TendonError, match=says):
        preflight(given)


def test_a_network_that_is_down(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nodes would wait for one another for ever."""
    monkeypatch.setattr(loopback, "ADDRESS", "192.0.2.1")  # of no machine
    with pytest.raises(TendonError, match=r"by the loopback network: .*: ip link set lo up"):
        preflight({})


def test_a_window_without_a_display(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    with pytest.raises(TendonError, match="gui:=true needs a display"):
        preflight({"gui": "true"})


def test_an_engine_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tendon.policies.engines.engine.installed", lambda provider: provider == "cpu")
    with pytest.raises(TendonError, match=r"engine openvino is not installed: pip install"):
        preflight({"engine": "openvino"})


@pytest.mark.parametrize(
    ("change", "given", "says"),
    [
        (lambda v: v.pop("collisions"), {"arm": "true"}, "arm:=true cannot be: profile panda has no collision model"),
        (lambda v: v.update(base_frame="nonsense"), {}, "base_frame is nonsense"),
        (lambda v: v.update(tool_frame="panda_link0"), {}, "tool_frame is panda_link0, which no joint of the profile"),
        (lambda v: v["joints"][0].update(tracking_tolerance="5e-2"), {}, "reads as text: write 0.05"),
        (lambda v: v["cameras"][0].update(name="front"), {}, "bundle tabletop needs camera scene"),
        (lambda v: v["cameras"].pop(), {"backend": "mock"}, "bundle tabletop needs camera wrist"),
        (lambda v: v["cameras"][0].update(width=64), {"backend": "mock"}, "camera scene size is 128x128, expected 64x"),
        (lambda v: v["joints"].reverse(), {"backend": "mock"}, "joint_names is .*joint order"),
        (lambda v: v.update(tool_frame="panda_link7"), {"backend": "mock"}, "tool_frame is panda_hand"),
        (lambda v: v["grippers"][0].update(open=0.08), {}, "open is 0.08, the joint's limits are 0 and 0.04: write"),
        (lambda v: v["grippers"][0].update(closed=-0.1), {}, "closed is -0.1, the joint's limits are 0 and 0.04"),
        (lambda v: v.pop("collisions") and v.update(human={"topic": "people"}), {}, "human topic but no collision"),
    ],
)
def test_a_profile_that_does_not_fit(
    change: Callable[[dict[str, Any]], None], given: dict[str, str], says: str, tmp_path: Path
) -> None:
    with pytest.raises(TendonError, match=says):
        preflight({"robot": str(panda(tmp_path, change)), **given})


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, "response.yaml does not exist; put the file there"),
        ("hello", "is no mapping with `format: 1`; run `tendon align` again"),
        ("[]", "is no mapping with `format: 1`; run `tendon align` again"),
        ("{format: 1, robot: panda, joints: 3}", "joints is 3, must be a mapping"),
    ],
)
def test_how_servos_follow_is_read_before_a_simulator_does(
    text: str | None, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    robot = panda(tmp_path, lambda values: values.update(response="response.yaml"))
    if text is not None:
        (tmp_path / "response.yaml").write_text(text)
    for command in (["robot", "check", str(robot)], ["run", f"robot:={robot}", "policy:=none"]):
        assert main(command) == 2
        said = capsys.readouterr().err
        assert says in said and said.count("\n") == 1


@pytest.mark.parametrize(
    ("change", "says", "code"),
    [
        ({"permits": ["true"]}, "data of std_msgs/Bool is of type bool, but permits has 'true', of type str", 1),
        ({"type": "std_msgs/Boool"}, "type is std_msgs/Boool: std_msgs has no message Boool; did you mean Bool?", 1),
        ({"field": "dta"}, "std_msgs/Bool has no field dta; did you mean data?", 1),
        ({"type": "no_such_msgs/Bool"}, "type is no_such_msgs/Bool, which is not installed", 0),
    ],
)
def test_a_stop_input_that_cannot_be_read(
    change: dict[str, Any],
    says: str,
    code: int,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The graph is refused; a look through the profile is an error, but where only this machine lacks the package."""
    monkeypatch.setenv("COLUMNS", "400")
    door = {"name": "door", "topic": "door/closed", "permits": [True]} | change
    robot = panda(tmp_path, lambda values: values.update(stop_inputs=[door]))
    assert main(["run", f"robot:={robot}", "backend:=mock", "policy:=none"]) == 2
    said = capsys.readouterr().err
    assert f"stop input door: {says}" in said and said.count("\n") == 1
    assert main(["robot", "check", str(robot)]) == code
    assert f"stop input door: {says}" in capsys.readouterr().out


def test_a_collision_model_of_other_links(tmp_path: Path) -> None:
    wrong = write(tmp_path / "collisions.yaml", "bodies: {elbow: [{centre: [0, 0, 0], radius: 0.1}]}")
    robot = panda(tmp_path, lambda v: v.update(collisions=str(wrong)))
    with pytest.raises(TendonError, match=r"gives shapes to link elbow, which .* does not have"):
        preflight({"robot": str(robot)})


def test_an_environment_whose_body_is_a_link(tmp_path: Path) -> None:
    place = write(tmp_path / "cell.yaml", "bodies: {panda_hand: [{centre: [0, 0, 0], radius: 0.1}]}")
    with pytest.raises(TendonError, match="a body panda_hand, which is a link of panda: rename it"):
        preflight({"environment": str(place)})


def test_a_bundle_that_lacks_a_file(tmp_path: Path) -> None:
    folder = write_tiny_bundle(tmp_path)
    (folder / "policy.onnx").unlink()
    with pytest.raises(TendonError, match=r"lacks policy\.onnx, which bundle\.yaml names: fetch or export it again"):
        preflight({"policy": str(folder)})


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("kind: openpi\nurl: ws://gpu:8000", "policy: is missing"),
        ("kind: tendon\nurl: gpu", "url is 'gpu', must be"),
        ("kind: tendon\nurl: wss://gpu:1\nkey_file: gone", "gone"),
        ("kind: magic\nurl: ws://gpu:1", "kind is 'magic', known: tendon"),
        (": [", "is not YAML"),
    ],
)
def test_a_servers_file_that_is_wrong(text: str, says: str, tmp_path: Path) -> None:
    pytest.importorskip("websockets")
    with pytest.raises(TendonError, match=says):
        preflight({"policy": str(write(tmp_path / "server.yaml", text))})


def test_a_server_for_another_robot_is_refused_before_it_is_asked(tmp_path: Path) -> None:
    pytest.importorskip("websockets")
    example = share_folder() / "docs" / "examples" / "openpi_server.yaml"
    values = yaml.safe_load(example.read_text())
    values["policy"]["robot"] = "ur10"
    values.pop("key_file", None)
    file = write(tmp_path / "server.yaml", yaml.safe_dump(values))
    with pytest.raises(TendonError, match="is for robot ur10, the profile is panda"):
        preflight({"policy": str(file)})


@pytest.mark.parametrize(
    "command",
    [
        ["run", "robot:=pnada"],
        ["run", "robot:=so101"],
        ["run", "robot:=so101", "backend:=mock"],
        ["run", "policy:=nowhere"],
        ["run", "family:=stak"],
        ["demo", "--bundle", "nowhere"],
    ],
)
def test_the_command_starts_no_process_says_one_line_and_ends_with_2(
    command: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    started: list[object] = []
    monkeypatch.setattr(subprocess.Popen, "__init__", lambda *args, **_: started.append(args))
    assert main(command) == 2
    out, err = capsys.readouterr()
    assert not started and not out
    assert len(err.strip().splitlines()) == 1 and err.startswith(f"tendon {command[0]}: ")

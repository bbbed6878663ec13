"""`tendon policy import`: one command from LeRobot's folder to a bundle that drives the robot as LeRobot would."""

from __future__ import annotations

import io
import json
import re
import shutil
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml

from tendon.cli import main
from tendon.core.types import Image, Observation
from tendon.policies.bundle.bundle import load_bundle, write_bundle
from tendon.policies.engines.loading import Engine
from tendon.policies.export.lerobot import bundle as lerobot_bundle
from tendon.policies.export.lerobot.bundle import EXPORTERS, Importing, draft_manifest, final_manifest
from tendon.policies.export.lerobot.exported_policy import ExportedPolicy
from tendon.policies.export.lerobot.pixels import camera_inputs
from tendon.policies.export.lerobot.source import read_source
from tendon.policies.export.spaces_file import read_spaces
from tendon.policies.inference.policy import BundlePolicy
from tendon.policies.parity.graph import CASES_FILE, read_cases
from tendon.policies.parity.receipt import RECEIPT_FILE, read_receipt
from tendon.robots.profile import load_profile
from tests.policies.export.lerobot.so101 import JOINTS, write_so101
from tests.policies.export.lerobot.tiny_policies import (
    ACTION,
    CAMERAS,
    HEIGHT,
    STATE,
    WIDTH,
    as_lerobot,
    loaded,
    observation,
    save_act,
    statistics,
)

ORDER = (5, 0, 1, 2, 3, 4)
"""The policy has the gripper first."""


@pytest.fixture(scope="module")
def robot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_so101(tmp_path_factory.mktemp("robot") / "so101", CAMERAS.values(), WIDTH, HEIGHT)


@pytest.fixture(scope="module")
def spaces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six joints, the gripper first; the action has a seventh number, of what this robot has not."""
    joints = [{"joint": JOINTS[k], "unit": "rad"} for k in ORDER]
    action = {"space": "joint_position", "relative_to": "nothing", "joints": [*joints, {"unit": "constant"}]}
    path = tmp_path_factory.mktemp("spaces") / "spaces.yaml"
    path.write_text(yaml.safe_dump({"state": [{"name": "joints", "joints": joints}], "action": action}))
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An ACT policy whose statistics an SO-101 in rad can have."""
    numbers = statistics()
    for key, size in (("observation.state", STATE), ("action", ACTION)):
        numbers[key] |= {"mean": torch.linspace(0.1, 0.3, size), "std": torch.linspace(0.2, 0.3, size)}
    return save_act(tmp_path_factory.mktemp("policy"), numbers)


def arguments(folder: Path, bundle: Path, robot: Path, spaces: Path) -> list[str]:
    cameras = [part for key, name in CAMERAS.items() for part in ("--camera", f"{key}={name}")]
    return ["policy", "import", str(folder), str(bundle), "--robot", str(robot), *cameras, "--spaces", str(spaces)]


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory, folder: Path, robot: Path, spaces: Path) -> tuple[Path, str]:
    """A bundle, and what its import printed."""
    written, out = tmp_path_factory.mktemp("bundles") / "mine", io.StringIO()
    with redirect_stdout(out):
        assert main([*arguments(folder, written, robot, spaces), "--rate", "10"]) == 0
    assert [each.name for each in written.parent.iterdir()] == ["mine"]
    return written, out.getvalue()


@pytest.fixture(scope="module")
def bundle(printed: tuple[Path, str]) -> Path:
    return printed[0]


def test_an_import_counts_its_stages_to_the_last(printed: tuple[Path, str]) -> None:
    begun = re.findall(r"^ *[\d.]+ s  \[(\d+)/(\d+)\]", printed[1], re.MULTILINE)  # not those it is still at
    found = [tuple(map(int, pair)) for pair in begun]
    assert found == [(number, 8) for number in range(2, 9)]


def test_the_robot_does_what_lerobot_would_make_it_do(bundle: Path, folder: Path, robot: Path) -> None:
    profile = load_profile(robot)
    robot_policy = BundlePolicy(load_bundle(bundle), profile, Engine("cpu"))
    policy, before, after = loaded("act", "ACT", folder)
    for seed in range(3):
        seen = observation(seed)
        joints = profile.vector("home") + 0.01 * seed
        seen["state"] = joints[list(ORDER)].astype(np.float32)
        wanted = after(policy.predict_action_chunk(before(as_lerobot(seen)))).numpy()[0]
        images = {name: Image(stamp_ns=1, pixels=seen[key]) for key, name in CAMERAS.items()}
        chunk = robot_policy.infer(
            Observation(stamp_ns=1, joint_position=joints, joint_velocity=np.zeros(6), images=images)
        )
        assert chunk.step_ns == 100_000_000
        inside = np.clip(wanted[:, np.argsort(ORDER)], profile.vector("lower"), profile.vector("upper"))
        np.testing.assert_allclose(chunk.actions, inside, atol=1e-5)
        assert np.abs(chunk.actions - joints).max() > 0.01


def test_its_chunks_tell_what_it_made_of_the_observation(bundle: Path, robot: Path) -> None:
    """A residual and the failure detector see by it."""
    policy = BundlePolicy(load_bundle(bundle), load_profile(robot), Engine("cpu"))
    assert policy.feature_sizes() == (32, 0)


def test_the_bundle_keeps_its_receipt_and_inferences(bundle: Path) -> None:
    written = load_bundle(bundle)
    receipt = read_receipt(written.content[RECEIPT_FILE])
    assert receipt.source.startswith("LeRobot's act, in torch ")
    assert receipt.passed and {row.reference for row in receipt.rows} == {"float32", "float64"}
    assert receipt.machine["processor"] and receipt.machine["versions"]["torch"]
    assert len(read_cases(written.content[CASES_FILE])) == receipt.rows[0].inferences
    source = written.manifest.training["source"]
    assert source["type"] == "act" and set(source["images"]) == set(CAMERAS.values())
    assert not written.unlisted and written.manifest.name == "mine"


def test_it_can_be_checked_again_and_an_altered_graph_is_seen(bundle: Path, tmp_path: Path) -> None:
    assert main(["policy", "check", str(bundle), "--engine", "cpu"]) == 0
    written = load_bundle(bundle)
    content = dict(written.content)
    half = len(content["policy.onnx"]) // 2
    changed = bytearray(content["policy.onnx"])
    changed[half : half + 400] = np.random.default_rng(0).standard_normal(100).astype(np.float32).tobytes()
    write_bundle(tmp_path / "altered", written.manifest, {**content, "policy.onnx": bytes(changed)})
    assert main(["policy", "check", str(tmp_path / "altered"), "--engine", "cpu"]) == 1


def test_a_diffusion_policy_drives_the_robot(
    diffusion_folder: Path, diffusion_graphs: ExportedPolicy, robot: Path, spaces: Path, tmp_path: Path
) -> None:
    """Two observations in, rows from the newer one out, none of those that lie before it."""
    profile, source = load_profile(robot), read_source(diffusion_folder)
    how = Importing(name="diffusion", cameras=CAMERAS, spaces=read_spaces(spaces), rate_hz=10.0, recorded=None)
    views = tuple(camera_inputs(source, CAMERAS).values())
    manifest = final_manifest(draft_manifest(source, views, profile, how), diffusion_graphs)
    assert manifest.history == 2 and manifest.denoiser is not None and manifest.denoiser.past_rows == 1
    plain = replace(manifest, state_mean=(0.0,) * STATE, state_std=(1.0,) * STATE)
    plain = replace(plain, action=replace(plain.action, mean=(0.0,) * ACTION, std=(1.0,) * ACTION))
    policy = BundlePolicy(write_bundle(tmp_path / "bundle", plain, diffusion_graphs.made.files), profile)
    for k in range(3):
        images = {name: Image(stamp_ns=1, pixels=observation(k)[key]) for key, name in CAMERAS.items()}
        seen = Observation(
            stamp_ns=1 + k * 10**8, joint_position=profile.vector("home"), joint_velocity=np.zeros(6), images=images
        )
        assert policy.infer(seen).actions.shape == (15, 6)


WRONG = {
    "no rate": ([], "--rate HZ is missing"),
    "a rate that is none": (["--rate", "0"], "must be from 0.1 to 1000 Hz"),
    "a camera the robot lacks": (["--rate", "10", "--camera", "top=roof"], "each key once"),
    "two ways to say the spaces": (["--rate", "10", "--unit", "deg"], "leave out --unit and --gripper"),
    "a data set that is none": (["--rate", "10", "--recorded", "nowhere"], "no LeRobot data set at nowhere"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_options_are_one_line_and_nothing_is_written(
    case: str, folder: Path, robot: Path, spaces: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    extra, text = WRONG[case]
    assert main([*arguments(folder, tmp_path / "bundle", robot, spaces), *extra]) == 2
    said = capsys.readouterr().err
    assert text in said and said.count("\n") == 1
    assert not list(tmp_path.iterdir())


def _configured(**changes: object) -> Callable[[Path], object]:
    def apply(folder: Path) -> None:
        path = folder / "config.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))

    return apply


def _cut(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-4])


BROKEN = {
    "truncated weights": (_cut, "model.safetensors is truncated"),
    "no configuration": (lambda folder: (folder / "config.json").unlink(), "it has no config.json"),
    "no processors": (lambda folder: (folder / "policy_preprocessor.json").unlink(), "normalisation is unknown"),
    "an unknown type": (_configured(type="tdmpc"), "'tdmpc', known: act, diffusion"),
    "a configuration of other weights": (_configured(dim_model=64), "wrong shapes"),
    "a value of the wrong kind": (_configured(chunk_size="many"), "config.json"),
    "statistics modes that are none": (_configured(input_features=[1]), "input_features"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_of_a_broken_directory_nothing_is_left_behind(
    case: str, folder: Path, robot: Path, spaces: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is wrong with it is one line, also where it is seen only when LeRobot builds the policy."""
    change, text = BROKEN[case]
    change(Path(shutil.copytree(folder, tmp_path / "policy")))
    (tmp_path / "bundles").mkdir()
    given = arguments(tmp_path / "policy", tmp_path / "bundles" / "mine", robot, spaces)
    assert main([*given, "--rate", "10"]) == 2
    said = capsys.readouterr().err
    assert text in said and said.count("\n") == 1
    assert not list((tmp_path / "bundles").iterdir())


def test_too_little_memory_is_said_before_it_is_taken(
    folder: Path,
    robot: Path,
    spaces: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    given = [text.replace("=wrist", "=roof") for text in arguments(folder, tmp_path / "mine", robot, spaces)]
    for bytes_a_parameter, said in ((lerobot_bundle.BYTES_A_PARAMETER, False), (10**10, True)):
        monkeypatch.setattr(lerobot_bundle, "BYTES_A_PARAMETER", bytes_a_parameter)
        assert main([*given, "--rate", "10"]) == 2
        assert ("if it is killed, take a larger machine" in capsys.readouterr().out) == said


def test_a_graph_that_is_not_the_source_is_not_written(
    folder: Path,
    robot: Path,
    spaces: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    bundle: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The bundle is tried as it was written: here an exporter hands over another policy's answers."""
    exporter, written = EXPORTERS["act"], load_bundle(bundle)
    cases = read_cases(written.content[CASES_FILE])
    wrong = tuple({**case, "actions": case["actions"] + np.float32(0.1)} for case in cases)

    def swapped(*given: Any) -> ExportedPolicy:
        exported = exporter(*given)
        return replace(exported, made=replace(exported.made, cases=wrong))

    monkeypatch.setitem(EXPORTERS, "act", swapped)
    assert main([*arguments(folder, tmp_path / "mine", robot, spaces), "--rate", "10"]) == 2
    assert "does not repeat its own parity" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_bundle_that_is_there_stays(
    bundle: Path, folder: Path, robot: Path, spaces: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments(folder, bundle, robot, spaces), "--rate", "10"]) == 2
    assert "is there already: remove it" in capsys.readouterr().err
    load_bundle(bundle)


def test_what_does_not_fit_the_robot_is_refused_before_the_export(
    folder: Path, robot: Path, spaces: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(text: str, robot: Path = robot, spaces: Path = spaces, cameras: dict[str, str] = CAMERAS) -> None:
        given = arguments(folder, tmp_path / "bundle", robot, spaces)
        given = [each for each in given if each != "--camera" and "=" not in each]
        for key, name in cameras.items():
            given += ["--camera", f"{key}={name}"]
        assert main([*given, "--rate", "10"]) == 2
        assert text in capsys.readouterr().err
        assert not any("bundle" in each.name for each in tmp_path.iterdir())

    refused("robot so101 has no camera roof, it has: scene, wrist", cameras={"top": "scene", "wrist": "roof"})
    refused("no camera for the policy's image wrist", cameras={"top": "scene"})
    raw = yaml.safe_load(spaces.read_text())
    short = tmp_path / "short.yaml"
    short.write_text(yaml.safe_dump({**raw, "state": [{"name": "joints", "joints": raw["state"][0]["joints"][:5]}]}))
    refused("state has 6 numbers, its spaces say 5", spaces=short)
    degrees = [each | {"unit": "deg"} for each in raw["state"][0]["joints"]]
    short.write_text(yaml.safe_dump({**raw, "state": [{"name": "joints", "joints": degrees}]}))
    refused("unit rad would fit", spaces=short)
    short.write_text(yaml.safe_dump({**raw, "action": raw["action"] | {"joints": raw["action"]["joints"][:6]}}))
    refused("the policy's action of 7 numbers", spaces=short)
    profile = yaml.safe_load(robot.read_text())
    profile["cameras"][0]["width"] = 640
    wide = robot.with_name("wide.yaml")
    wide.write_text(yaml.safe_dump(profile))
    refused("camera scene size", robot=wide)

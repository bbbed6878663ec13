"""A residual on disk: bound to its base and its robot, hashed, and refused in one line."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tendon.control.residual.gate import Evidence, Tally
from tendon.control.residual.space import ResidualSpace
from tendon.core.errors import ConfigError, IntegrityError, MismatchError
from tendon.core.paths import share_folder
from tendon.core.types import Array, Features, Observation
from tendon.policies.bundle import signature
from tendon.policies.bundle.bundle import load_bundle
from tendon.policies.bundle.places import find_bundle
from tendon.policies.detector.file import detector_files, load_detector
from tendon.policies.inference.identity import policy_digest
from tendon.policies.inference.load_place import load_place
from tendon.policies.residual.bundle import (
    RESIDUAL_FILE,
    load_residual,
    sign_residual,
    write_detector,
    write_evidence,
    write_residual,
)
from tendon.policies.residual.graph import ACTION, GRAPH_FILE, OBSERVATION, ResidualGraph
from tendon.robots.profile import load_profile
from tests.control.residual.test_bounded import BASE, HOME
from tests.policies.residual.tiny import constant_graph, write_constant

SPACE = ResidualSpace()
PANDA = load_profile("panda")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_constant(tmp_path, [1.0, 0.0, 0.0, 0.0], "a" * 64, SPACE)


def test_what_was_written_corrects_the_policy_that_it_is_for(folder: Path) -> None:
    residual = load_residual(folder).open(PANDA, "a" * 64)
    observation = Observation(stamp_ns=0, joint_position=HOME, joint_velocity=np.zeros(8))
    told = Features(policy="a" * 64, embedding=np.zeros(0), points=np.zeros((0, 3)))
    base = replace(BASE, chunk=replace(BASE.chunk, features=told))
    assert (residual.correct(observation, base)[0] == HOME).all()  # asked; in force from the next tick on
    assert residual.problems == ()


def test_another_policy_or_robot_is_refused(folder: Path) -> None:
    residual = load_residual(folder)
    with pytest.raises(MismatchError, match=r"corrects policy tabletop .aaaaaaaaaaaa., this one is bbbbbbbbbbbb"):
        residual.open(PANDA, "b" * 64)
    with pytest.raises(MismatchError, match="is for robot panda with joints panda_joint1"):
        residual.open(load_profile("ur5e"), "a" * 64)


def test_a_changed_graph_is_refused(folder: Path) -> None:
    path = folder / GRAPH_FILE
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(bytes(content))
    with pytest.raises(IntegrityError, match="has SHA-256"):
        load_residual(folder)
    path.unlink()
    with pytest.raises(IntegrityError, match="is no file"):
        load_residual(folder)


@pytest.mark.parametrize(
    ("old", "new"),
    [("tool_m: 0.03", "tool_m: 0.2"), ("grip_share: 0.25", "grip_share: 1.0"), ("robot: panda", "robot: mine")],
)
def test_a_bound_that_was_changed_is_refused(folder: Path, old: str, new: str) -> None:
    """It was trained, shown and signed under its own."""
    path = folder / RESIDUAL_FILE
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(IntegrityError, match=r"residual.yaml was changed"):
        load_residual(folder)
    path.write_text("\n".join(line for line in path.read_text().splitlines() if not line.startswith("digest")))
    with pytest.raises(IntegrityError, match="has no digest"):
        load_residual(folder)


def test_its_digest_is_of_what_it_does_not_of_what_was_shown(folder: Path, tmp_path: Path) -> None:
    bundle = load_residual(folder)
    write_evidence(bundle, Evidence(base=Tally(successes=1, total=2), residual=Tally(successes=2, total=2)))
    assert load_residual(folder).manifest.digest == bundle.manifest.digest
    wider = write_constant(tmp_path / "wider", [1.0, 0.0, 0.0, 0.0], "a" * 64, replace(SPACE, tool_m=0.04))
    assert load_residual(wider).graph == bundle.graph
    assert load_residual(wider).manifest.digest != bundle.manifest.digest


def test_a_robot_that_demands_signatures_takes_no_residual_without_one(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(signature, "trusted_folder", lambda: tmp_path / "trusted")
    monkeypatch.setenv(signature.DEMAND_VARIABLE, "1")
    with pytest.raises(IntegrityError, match=r"residual .* is refused, for it is not signed"):
        load_residual(folder)
    signature.generate_keys(tmp_path / "mine")
    sign_residual(folder, tmp_path / "mine")
    with pytest.raises(IntegrityError, match=r"is not trusted here"):
        load_residual(folder)
    (tmp_path / "trusted").mkdir()
    (tmp_path / "mine.pub").rename(tmp_path / "trusted" / "mine.pub")
    bundle = load_residual(folder)
    write_evidence(bundle, Evidence(base=Tally(successes=1, total=2)))
    with pytest.raises(IntegrityError, match=r"is refused, for it is not signed"):
        load_residual(folder)


@pytest.mark.parametrize("signed", [False, True])
def test_the_same_residual_written_again_keeps_what_was_shown_and_signed(
    signed: bool, folder: Path, tmp_path: Path
) -> None:
    """As a run of training that has ended does when it is started again."""
    write_evidence(load_residual(folder), Evidence(base=Tally(successes=1, total=2)))
    if signed:
        signature.generate_keys(tmp_path / "mine")
        sign_residual(folder, tmp_path / "mine")
    before = {path.name: path.read_bytes() for path in folder.glob("residual.*")}
    assert len(before) == 2 + signed
    write_constant(folder, [1.0, 0.0, 0.0, 0.0], "a" * 64, SPACE)
    assert {path.name: path.read_bytes() for path in folder.glob("residual.*")} == before
    write_constant(folder, [0.5, 0.0, 0.0, 0.0], "a" * 64, SPACE)
    other = load_residual(folder)
    assert other.manifest.evidence == Evidence() and not (folder / "residual.sig").exists()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("tool_m: 0.03", "tool_m: 3.0", "tool_m .m. is 3.0"),
        ("format: 1", "format: 9", "format is 9"),
        ("base: tabletop", "basis: tabletop", "unknown key basis"),
        ("base: tabletop", "base: [", "is not YAML"),
    ],
)
def test_a_wrong_value_is_named(folder: Path, old: str, new: str, said: str) -> None:
    path = folder / RESIDUAL_FILE
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(ConfigError, match=said):
        load_residual(folder)


@pytest.mark.parametrize(
    "run", sorted((share_folder() / "bundles" / "residuals").glob("*/run.json")), ids=lambda run: run.parent.name
)
def test_a_residual_that_comes_with_tendon_says_what_its_run_left_alone(run: Path) -> None:
    task, training = json.loads(run.read_text())["task"], load_residual(run.parent).manifest.training
    assert training.get("kept", "").split() == task["kept"]
    assert training.get("reward", "success") == task["reward"].split()[0]


def test_where_there_is_none_the_command_to_make_one_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no residual at .*tendon residual train"):
        load_residual(tmp_path)


def test_a_graph_that_is_none_of_a_residual_is_refused() -> None:
    with pytest.raises(IntegrityError):
        ResidualGraph(b"nothing")
    wrong = constant_graph(SPACE, [0, 0, 0, 0]).replace(b"observation", b"observatiom")
    with pytest.raises(MismatchError, match="a residual has observation and action"):
        ResidualGraph(wrong)


def hostile(nodes: list[onnx.NodeProto], observed: list[int | str], answered: list[int | str] | None) -> bytes:
    """A graph with a constant or two, whatever it is good for."""
    values = {"nan": [np.nan] * 4, "huge": [1e38] * 4, "five": [0.0] * 5, "one": [1.0]}
    graph = helper.make_graph(
        nodes,
        "hostile",
        [helper.make_tensor_value_info(OBSERVATION, TensorProto.FLOAT, observed)],
        [helper.make_tensor_value_info(ACTION, TensorProto.FLOAT, answered)],
        [numpy_helper.from_array(np.array([each], np.float32), name) for name, each in values.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    return bytes(model.SerializeToString())


def same(name: str) -> list[onnx.NodeProto]:
    return [helper.make_node("Identity", [name], [ACTION])]


WIDTH = SPACE.observations


@pytest.mark.parametrize(
    ("graph", "said"),
    [
        (hostile(same("nan"), [1, WIDTH], [1, 4]), "is nan"),
        (hostile([helper.make_node("Mul", ["huge", "huge"], [ACTION])], [1, WIDTH], [1, 4]), "is inf"),
        (hostile(same("five"), [1, WIDTH], [1, 5]), "answers 5 numbers, its space has 4"),
        (hostile(same("one"), [1, WIDTH], [1, 1]), "answers 1 numbers, its space has 4"),
        (hostile(same("huge"), [1, WIDTH + 3], [1, 4]), f"no answer to {WIDTH} zeros"),
        (
            hostile(
                [helper.make_node("Shape", ["one"], ["n"]), helper.make_node("ConstantOfShape", ["n"], [ACTION])],
                [1, WIDTH],
                None,
            ),
            "its space has 4",
        ),
        (hostile(same(OBSERVATION), ["batch", "any"], ["batch", "any"]), f"answers {WIDTH} numbers"),
    ],
)
def test_a_graph_that_does_not_fit_its_space_is_refused_before_anything_moves(
    graph: bytes, said: str, tmp_path: Path
) -> None:
    """Its hash is right: whoever made it made it so."""
    folder = tmp_path / "hostile"
    folder.mkdir()
    told = {"base": "tabletop", "base_digest": "a" * 64, "training": {"made_by": "a test"}}
    write_residual(folder, graph, profile=PANDA, space=SPACE, **told)  # type: ignore[arg-type]
    with pytest.raises((MismatchError, IntegrityError), match=said):
        load_residual(folder).open(PANDA, "a" * 64)


@pytest.mark.parametrize(("slow", "refused"), [(1, False), (4, False), (99, True)])
def test_a_graph_that_the_control_loop_would_wait_for_too_long_is_refused(
    slow: int, refused: bool, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine that is busy for a moment is no reason."""
    act, calls = ResidualGraph.act, []

    def slowly(graph: ResidualGraph, observation: Array) -> Array:
        calls.append(0)
        if 1 < len(calls) <= 1 + slow:
            time.sleep(0.006)
        return act(graph, observation)

    monkeypatch.setattr(ResidualGraph, "act", slowly)
    if refused:
        with pytest.raises(MismatchError, match=r"takes \d+\.\d ms an answer, allowed: 5\.0"):
            load_residual(folder).open(PANDA, "a" * 64)
    else:
        load_residual(folder).open(PANDA, "a" * 64)


def test_a_detector_beside_a_residual_watches_the_policy_that_it_corrects(tmp_path: Path) -> None:
    """That of the policy alone takes what the residual does for contradictions: it held nine of ten episodes."""
    tabletop = load_bundle(find_bundle("tabletop"))
    folder = write_constant(tmp_path / "mine", [0.0, 0.0, 0.0, 0.0], policy_digest(tabletop.manifest))
    before = load_residual(folder)
    own = load_detector(tabletop)
    assert own is not None
    mine = replace(own, thresholds={"consistency": 9.0, "novelty": 8.0}, stop_thresholds={})
    write_detector(before, detector_files(mine, tabletop, 0.05, 100, "some"))
    after = load_residual(folder)
    assert after.manifest.digest == before.manifest.digest, "it is the same residual"
    profile = load_profile("panda")

    def thresholds(residual: Path | None) -> Mapping[str, float]:
        detector = load_place(tabletop.folder, profile, None, residual).detector
        assert detector is not None
        return detector.calibration.thresholds

    assert thresholds(folder) == {"consistency": 9.0, "novelty": 8.0}
    assert thresholds(None) == own.thresholds
    assert thresholds(write_constant(tmp_path / "plain", [0.0] * 4, before.manifest.base_digest)) == own.thresholds
    write_evidence(after, Evidence(base=Tally(total=1), residual=Tally(total=1)))
    assert thresholds(folder) == {"consistency": 9.0, "novelty": 8.0}, "evidence leaves it"
    (folder / "detector.yaml").write_text("else")
    with pytest.raises(IntegrityError, match=r"detector\.yaml has SHA-256"):
        load_residual(folder)
    (folder / "detector.yaml").unlink()
    with pytest.raises(IntegrityError, match=r"detector\.yaml"):
        load_residual(folder)


@pytest.mark.parametrize(
    "answer",
    [
        np.zeros((1, 4)),
        np.zeros(4, np.float32),
        np.zeros((0, 4), np.float32),
        np.array([["a"] * 4]),
        np.zeros((2, 4), np.float32),
    ],
    ids=["float64", "flat", "no row", "texts", "two rows"],
)
def test_an_answer_of_another_form_is_refused(answer: Any) -> None:
    graph = ResidualGraph(constant_graph(ResidualSpace(), (0.0, 0.0, 0.0, 0.0)))
    graph._graph = SimpleNamespace(run=lambda _: {ACTION: answer})  # type: ignore[assignment]
    with pytest.raises(MismatchError, match=r"gives no answer to .* must be float32 \(1, A\)"):
        graph.check(ResidualSpace(), 0.01)

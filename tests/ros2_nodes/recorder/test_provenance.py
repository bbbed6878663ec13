"""A recording says what it is of, down to the bytes."""

from __future__ import annotations

import hashlib
from pathlib import Path

from tendon.graph.arguments import parse_arguments
from tendon.graph.description import describe
from tendon.robots.profile import load_profile
from tendon.ros2_nodes.recorder.provenance import hashes

BUNDLE = Path(__file__).resolve().parents[3] / "bundles" / "tabletop"


def test_policy_residual_and_suite_are_named_by_their_bytes(tmp_path: Path) -> None:
    """A suite of a file and a residual were not in it."""
    (tmp_path / "residual.yaml").write_text("format: 1")
    suite = tmp_path / "mine.yaml"
    suite.write_text("suite: tabletop")
    found = hashes(load_profile("panda"), str(BUNDLE), str(suite), str(tmp_path))
    assert set(found) == {"profile", "policy", "suite", "residual"}
    for name, file in (("residual", tmp_path / "residual.yaml"), ("suite", suite), ("policy", BUNDLE / "bundle.yaml")):
        assert found[name] == hashlib.sha256(file.read_bytes()).hexdigest()
    assert set(hashes(load_profile("panda"), "", "tabletop", "")) == {"profile", "suite"}


def test_the_recorder_of_a_graph_is_told_what_corrects_its_policy(tmp_path: Path) -> None:
    values = parse_arguments(["record:=true", f"residual:={tmp_path}"])
    (recorder,) = [each for each in describe(values).processes if each.name == "recorder_node"]
    assert recorder.parameters["residual"] == str(tmp_path)

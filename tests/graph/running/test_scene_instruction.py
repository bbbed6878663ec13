"""Only what the policies of a graph are known to understand is offered to the person at the terminal."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tendon.graph.arguments import complete
from tendon.graph.running.scene_instruction import scene_instruction
from tendon.sim.tabletop.scene import sample_scene
from tests.ros2_nodes.tiny_bundle import write_tiny_bundle

SCENE = 100003
PROMPT = {"kind": "smolvla", "tokenizer": "tokenizer.json", "tokens": 48}


@pytest.fixture
def foreign(tmp_path: Path, request: pytest.FixtureRequest) -> str:
    """A bundle that says otherwise how it reads an instruction."""
    manifest = write_tiny_bundle(tmp_path / "foreign") / "bundle.yaml"
    values = yaml.safe_load(manifest.read_text()) | {"name": "foreign"}
    values |= {} if request.param == "words" else {"instruction": request.param}
    manifest.write_text(yaml.safe_dump(values))
    return str(manifest.parent)


def offered(**given: str) -> str:
    return scene_instruction(complete({"scene": str(SCENE), **given}))


def test_a_policy_that_knows_the_words_is_offered_the_scenes_task() -> None:
    assert offered(policy="bundles/tabletop") == sample_scene(SCENE).instruction
    assert offered(policy="bundles/tabletop", standby="bundles/tabletop") == sample_scene(SCENE).instruction


@pytest.mark.parametrize("foreign", ["words", PROMPT, None], ids=["other words", "any text", "one task"], indirect=True)
def test_a_policy_that_may_not_know_them_is_not(foreign: str) -> None:
    """One in standby may run next."""
    assert offered(policy=foreign) == ""
    assert offered(policy="bundles/tabletop", standby=foreign) == ""


def test_a_server_no_policy_and_a_robot_without_a_scene_are_not(tmp_path: Path) -> None:
    server = tmp_path / "server.yaml"
    server.write_text("kind: tendon\nurl: ws://127.0.0.1:8000\n")
    assert offered(policy=str(server)) == offered(policy="none") == ""
    assert offered(policy="bundles/tabletop", backend="mock") == ""

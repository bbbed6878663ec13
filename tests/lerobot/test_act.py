"""An ACT policy of LeRobot, exported, answers what LeRobot itself answers."""

from pathlib import Path

import numpy as np
import pytest
import torch
from tiny_policies import ACTION, CAMERAS, as_lerobot, loaded, observation

from tendon.policies.export.act import export_act
from tendon.policies.export.exported import ExportedGraphs
from tendon.policies.export.lerobot_source import read_source
from tendon.policies.parity import EXPORT_BOUND, difference
from tendon.policies.runtime import Engine, load_graph

BOUND = 1e-5


@pytest.fixture(scope="module")
def exported(act_folder: Path) -> ExportedGraphs:
    return export_act(read_source(act_folder), CAMERAS)


def test_the_graph_answers_what_lerobot_answers_from_raw_observation_to_robot_units(
    exported: ExportedGraphs, act_folder: Path
) -> None:
    graph = load_graph(exported.files, "policy.onnx", Engine("cpu"))
    policy, before, after = loaded("act", "ACT", act_folder)
    for seed in range(3):
        measured = observation(seed)
        wanted = after(policy.predict_action_chunk(before(as_lerobot(measured)))).numpy()
        feeds = {f"image_{camera}": measured[name][None] for name, camera in CAMERAS.items()}
        state = (measured["state"] - np.array(exported.state_mean)) / np.array(exported.state_std)
        answer = graph.run({**feeds, "state": state.astype(np.float32)[None]})["actions"]
        found = answer * np.array(exported.action_std) + np.array(exported.action_mean)
        assert found.shape == wanted.shape == (1, 10, ACTION)
        assert difference(wanted, found)[2] < BOUND


def test_the_export_says_how_the_policy_is_run(exported: ExportedGraphs) -> None:
    assert (exported.kind, exported.rows, exported.execute_rows, exported.components) == ("direct", 10, 8, ACTION)
    assert [(c.name, c.width, c.height) for c in exported.cameras] == [("scene", 64, 48), ("wrist", 64, 48)]
    assert exported.image_keys == {"scene": "observation.images.top", "wrist": "observation.images.wrist"}
    assert all(row.passed and row.bound == EXPORT_BOUND for row in exported.parity)
    assert {row.reference for row in exported.parity} == {"float32", "float64"}


def test_two_observations_give_two_answers(exported: ExportedGraphs) -> None:
    """Random weights at their initial scale could answer the same to everything, and prove nothing."""
    first, second = (case["actions"] for case in exported.references[:2])
    assert difference(first, second)[2] > 1e-3
    assert torch.is_grad_enabled()

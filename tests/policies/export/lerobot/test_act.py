"""An ACT policy of LeRobot, exported, answers what LeRobot itself answers."""

from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from onnx import numpy_helper

from tendon.core.errors import MismatchError
from tendon.policies.engines.loading import Engine, load_graph
from tendon.policies.export.lerobot.exported_policy import ExportedPolicy
from tendon.policies.export.lerobot.pixels import Pixels
from tendon.policies.export.lerobot.policy import lerobot_policy
from tendon.policies.export.lerobot.source import read_source
from tendon.policies.export.networks.act import ActGraph
from tendon.policies.export.source_graph import SourceGraph, verify
from tendon.policies.parity.graph import EXPORT_BOUND, difference
from tests.policies.export.lerobot.tiny_policies import (
    ACTION,
    CAMERAS,
    as_lerobot,
    denormalised,
    loaded,
    normalised,
    observation,
)

BOUND = 1e-5


def test_the_graph_answers_what_lerobot_answers_from_raw_observation_to_robot_units(
    act_graphs: ExportedPolicy, act_folder: Path
) -> None:
    graph = load_graph(act_graphs.made.files, "policy.onnx", Engine("cpu"))
    policy, before, after = loaded("act", "ACT", act_folder)
    for seed in range(3):
        measured = observation(seed)
        wanted = after(policy.predict_action_chunk(before(as_lerobot(measured)))).numpy()
        feeds = {f"image_{camera}": measured[name][None] for name, camera in CAMERAS.items()}
        state = normalised(act_graphs.source, measured["state"])[None]
        found = denormalised(act_graphs.source, graph.run({**feeds, "state": state})["actions"])
        assert found.shape == wanted.shape == (1, 10, ACTION)
        assert difference(wanted, found)[2] < BOUND


def test_it_also_tells_what_lerobots_encoder_made_of_the_observation(
    act_graphs: ExportedPolicy, act_folder: Path
) -> None:
    """The mean of its tokens, of two cameras, state and latent; it is compared with LeRobot as the actions are."""
    graph = load_graph(act_graphs.made.files, "policy.onnx", Engine("cpu"))
    policy, before, _ = loaded("act", "ACT", act_folder)
    tokens: list[torch.Tensor] = []
    policy.model.encoder.register_forward_hook(lambda encoder, given, answer: tokens.append(answer))
    found = []
    for seed in range(2):
        measured = observation(seed)
        policy.predict_action_chunk(before(as_lerobot(measured)))
        feeds = {f"image_{camera}": measured[name][None] for name, camera in CAMERAS.items()}
        state = normalised(act_graphs.source, measured["state"])[None]
        found.append(graph.run({**feeds, "state": state})["embedding"])
        assert found[-1].shape == (1, 32)
        assert difference(tokens[-1].mean(dim=0).numpy(), found[-1])[2] < BOUND
    assert difference(*found)[2] > 1e-3
    assert {row.output for row in act_graphs.made.parity} == {"actions", "embedding"}


def test_the_export_says_how_the_policy_is_run(act_graphs: ExportedPolicy) -> None:
    sizes = (act_graphs.rows, act_graphs.execute_rows, act_graphs.source.action_size)
    assert (act_graphs.schedule, *sizes) == (None, 10, 8, ACTION)
    assert [(c.name, c.width, c.height) for c in act_graphs.views.values()] == [("scene", 64, 48), ("wrist", 64, 48)]
    assert list(act_graphs.views) == ["observation.images.top", "observation.images.wrist"]
    assert all(row.passed and row.bound == EXPORT_BOUND for row in act_graphs.made.parity)
    assert {row.reference for row in act_graphs.made.parity} == {"float32", "float64"}


def test_two_observations_give_two_answers(act_graphs: ExportedPolicy) -> None:
    """Random weights at their initial scale could answer the same to everything, and prove nothing."""
    first, second = (case["actions"] for case in act_graphs.made.cases[:2])
    assert difference(first, second)[2] > 1e-3


def test_an_altered_graph_is_refused_with_the_node_that_differs_first(
    act_folder: Path, act_graphs: ExportedPolicy
) -> None:
    source = read_source(act_folder)
    pixels = [Pixels(source.normalisation(key)) for key in act_graphs.views]
    inputs = (*(f"image_{view.name}" for view in act_graphs.views.values()), "state")
    module = ActGraph(lerobot_policy(source).model, pixels).eval()
    graph = SourceGraph(name="policy.onnx", module=module, inputs=inputs, outputs=("actions", "embedding"))
    model = onnx.load_model_from_string(act_graphs.made.files["policy.onnx"])
    inner = module.network.encoder.layers[0].linear1.weight.detach().numpy()
    weight = next(t for t in model.graph.initializer if sorted(t.dims) == sorted(inner.shape) and _is(inner, t))
    weight.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(weight) * np.float32(1.5), weight.name))
    altered = {"policy.onnx": model.SerializeToString()}
    with pytest.raises(
        MismatchError, match=r"output actions by .*first to differ: node \w+ \(\w+\): max abs [\d.e-]+,"
    ):
        verify(graph, altered, act_graphs.made.cases, float64=False)


def _is(weight: np.ndarray, tensor: onnx.TensorProto) -> bool:
    held = numpy_helper.to_array(tensor)
    return any(np.array_equal(held, each) for each in (weight, weight.T))

"""Steering: a policy does as it did at 0, is moved by what its input says, and takes no value that does not fit."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper
from safetensors.numpy import save_file

from tendon.cli import main
from tendon.core.errors import ConfigError, IntegrityError, MismatchError
from tendon.core.types import Observation
from tendon.policies.bundle.bundle import Bundle, load_bundle
from tendon.policies.export.convert.steering import steer_bundle, steer_model
from tendon.policies.inference.policy import BundlePolicy
from tendon.policies.spec.manifest import manifest_mapping, parse_manifest
from tendon.policies.spec.steering import Steering, SteeringInput
from tendon.robots.profile import RobotProfile
from tests import ROOT
from tests.policies.tiny_denoiser import build_denoised

Make = Callable[..., Bundle]
Observe = Callable[..., Observation]
TABLETOP = ROOT / "bundles" / "tabletop"


def steering_input(**changes: Any) -> SteeringInput:
    values = {"name": "speed", "lower": -2.0, "upper": 2.0, "default": 0.0, "meaning": "faster above 0"}
    return SteeringInput(**(values | changes))


def push() -> np.ndarray:
    """Moves every row of the tiny policy by (0.1, 0, 0, 0), normalised."""
    return np.array([0.1, 0.0, 0.0, 0.0])


@pytest.fixture
def steered(make_bundle: Make, tmp_path: Path) -> Bundle:
    made = make_bundle(move=(0.1, 0.05, -0.1, 0.1))
    return steer_bundle(made, tmp_path / "steered", steering_input(), {"actions": push()})


class TestManifest:
    def test_it_is_read_back_as_it_was_written(self, manifest: Callable[..., Any]) -> None:
        """Through the plain mapping of bundle.yaml."""
        made = manifest(steering=(steering_input(), steering_input(name="caution", default=1.0)))
        assert parse_manifest(manifest_mapping(made)) == made

    @pytest.mark.parametrize(
        ("changes", "words"),
        [
            ({"name": "Speed"}, "lower-case"),
            ({"name": ""}, "steering name"),
            ({"lower": 2.0}, "below upper"),
            ({"default": 2.1}, "between them"),
            ({"upper": float("nan")}, "finite"),
            ({"upper": "fast"}, "steering speed: upper is 'fast', must be a finite number"),
            ({"meaning": ""}, "steering speed: meaning"),
        ],
    )
    def test_what_cannot_be_is_refused(self, changes: dict[str, Any], words: str) -> None:
        """With the field and what fits."""
        with pytest.raises(ConfigError, match=words):
            steering_input(**changes)

    def test_two_of_one_name_and_an_unknown_key_are_refused(self, manifest: Callable[..., Any]) -> None:
        """As everywhere in bundle.yaml."""
        with pytest.raises(ConfigError, match="steering repeats speed"):
            manifest(steering=(steering_input(), steering_input()))
        plain = manifest_mapping(manifest(steering=(steering_input(),)))
        plain["steering"][0]["least"] = plain["steering"][0].pop("lower")
        with pytest.raises(ConfigError, match="least"):
            parse_manifest(plain)


class TestMatching:
    def test_a_graph_must_have_the_inputs_of_its_manifest_and_no_others(
        self, steered: Bundle, make_bundle: Make, profile: RobotProfile
    ) -> None:
        """Both ways round, and of that shape."""
        with pytest.raises(MismatchError, match="steer_speed"):
            BundlePolicy(make_bundle(steering=(steering_input(),)), profile)
        with pytest.raises(MismatchError, match="steer_speed"):
            BundlePolicy(replace(steered, manifest=replace(steered.manifest, steering=())), profile)

    def test_an_input_of_another_shape_is_refused(
        self, make_bundle: Make, model: Callable[..., bytes], profile: RobotProfile
    ) -> None:
        """A number is (1,)."""
        wide = model(inputs={"steer_speed": (TensorProto.FLOAT, (1, 2))})
        with pytest.raises(MismatchError, match="steer_speed shape"):
            BundlePolicy(make_bundle(data=wide, steering=(steering_input(),)), profile)


class TestPolicy:
    def test_it_goes_where_it_is_steered_from_the_next_inference_on(
        self, steered: Bundle, profile: RobotProfile, observe: Observe
    ) -> None:
        """0.1 normalised is 1 cm; back at 0 it is as it was."""
        policy = BundlePolicy(steered, profile)
        targets = []
        for value in (0.0, 1.0, -2.0, 0.0):
            policy.steer("speed", value)
            policy.infer(observe())
            assert policy.last is not None
            targets.append(policy.last.targets)
        np.testing.assert_allclose(targets[1][:, 0] - targets[0][:, 0], 0.01, atol=1e-7)
        np.testing.assert_allclose(targets[2][:, 0] - targets[0][:, 0], -0.02, atol=1e-7)
        np.testing.assert_array_equal(targets[3], targets[0])

    def test_it_starts_at_its_default(self, make_bundle: Make, tmp_path: Path, profile: RobotProfile) -> None:
        """Which need not be 0."""
        bundle = steer_bundle(make_bundle(), tmp_path / "steered", steering_input(default=0.5), {"actions": push()})
        assert dict(BundlePolicy(bundle, profile).steering) == {"speed": 0.5}

    @pytest.mark.parametrize(
        ("name", "value", "words"),
        [
            ("speed", 2.01, r"speed is 2.01, must be a number from -2.0 to 2.0"),
            ("speed", float("nan"), "must be a number"),
            ("speed", "1", "must be a number"),
            ("speed", True, "must be a number"),
            ("caution", 1.0, r"cannot be steered by 'caution', it has: speed"),
        ],
    )
    def test_what_does_not_fit_is_refused_and_changes_nothing(
        self, steered: Bundle, profile: RobotProfile, name: str, value: Any, words: str
    ) -> None:
        """With the name, the value and the bounds."""
        policy = BundlePolicy(steered, profile)
        policy.steer("speed", 1.5)
        with pytest.raises(ConfigError, match=words):
            policy.steer(name, value)
        assert dict(policy.steering) == {"speed": 1.5}

    def test_a_policy_without_steering_says_so(self, make_bundle: Make, profile: RobotProfile) -> None:
        """It has nothing to set."""
        with pytest.raises(ConfigError, match="it has: nothing"):
            BundlePolicy(make_bundle(), profile).steer("speed", 0.0)

    def test_threads_that_set_different_numbers_lose_none(self) -> None:
        """Each of them ends as its own thread left it, and a reader's mapping does not change under it."""
        steering = Steering([steering_input(name=name) for name in ("a", "b", "c", "d")])
        before = steering.values

        def turn(name: str) -> None:
            for k in range(2000):
                steering.set(name, k / 1000)

        threads = [threading.Thread(target=turn, args=(name,)) for name in "abcd"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert set(steering.values.values()) == {1.999}
        assert set(before.values()) == {0.0}

    def test_the_first_of_two_graphs_is_steered(self, tmp_path: Path, profile: RobotProfile, observe: Observe) -> None:
        """Its output keeps its name, so that the denoiser reads the sum."""
        made = build_denoised(tmp_path / "plain")
        bundle = steer_bundle(made, tmp_path / "steered", steering_input(), {"context": np.ones(7)})
        session = onnxruntime.InferenceSession(bundle.content["context.onnx"], providers=["CPUExecutionProvider"])
        assert [each.name for each in session.get_outputs()] == ["context"]
        policy = BundlePolicy(bundle, profile)
        policy.steer("speed", 1.0)
        policy.infer(observe())


class TestSurgery:
    def test_whoever_reads_the_activation_reads_the_sum(self) -> None:
        """Two readers and an output, and twice over under two names."""
        nodes = [
            helper.make_node("Identity", ["x"], ["hidden"]),
            helper.make_node("Neg", ["hidden"], ["first"]),
            helper.make_node("Add", ["hidden", "first"], ["second"]),
        ]
        sizes = dict.fromkeys(("x", "hidden", "first", "second"), (1, 3))
        specs = {name: helper.make_tensor_value_info(name, TensorProto.FLOAT, size) for name, size in sizes.items()}
        graph = helper.make_graph(nodes, "two", [specs["x"]], [specs["hidden"], specs["first"], specs["second"]])
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        model = steer_model(made.SerializeToString(), "a", {"hidden": np.array([1.0, 0.0, -1.0])})
        model = steer_model(model, "b", {"hidden": np.array([0.0, 5.0, 0.0])})
        onnx.checker.check_model(onnx.load_from_string(model))
        session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
        one, two = np.array([1.0], np.float32), np.array([2.0], np.float32)
        found = session.run(None, {"x": np.zeros((1, 3), np.float32), "steer_a": two, "steer_b": one})
        np.testing.assert_array_equal(found[0], [[2.0, 5.0, -2.0]])
        np.testing.assert_array_equal(found[1], [[-2.0, -5.0, 2.0]])
        np.testing.assert_array_equal(found[2], [[0.0, 0.0, 0.0]])

    @pytest.mark.parametrize(
        ("name", "directions", "error", "words"),
        [
            ("speed", {"acton": push()}, ConfigError, "no tensor 'acton'.*"),
            ("speed", {"state": np.ones(7)}, ConfigError, "no tensor 'state'"),
            ("speed", {"actions": np.ones(5)}, MismatchError, r"shape \(5,\) does not fit"),
            ("speed", {"actions": np.ones((2, 6, 4))}, MismatchError, "does not fit"),
            ("speed", {"actions": np.zeros(4)}, ConfigError, "not zero"),
            ("speed", {"actions": np.full(4, np.inf)}, ConfigError, "finite"),
            ("speed", {"actions": np.full(4, 1e300)}, ConfigError, "finite"),
            ("speed", {"actions": np.full(4, 1e-60)}, ConfigError, "not zero"),
            ("speed", {}, ConfigError, "needs directions"),
        ],
    )
    def test_a_direction_that_does_not_fit_is_refused(
        self, model: Callable[..., bytes], name: str, directions: Any, error: type[Exception], words: str
    ) -> None:
        """With what would fit."""
        with pytest.raises(error, match=words):
            steer_model(model(), name, directions)

    def test_a_range_that_answers_no_number_is_refused(self, make_bundle: Make, tmp_path: Path) -> None:
        far = np.array([3e38, 0.0, 0.0, 0.0], np.float32)
        with pytest.raises(ConfigError, match=r"at speed -2 the graph's actions is not finite: take a shorter"):
            steer_bundle(make_bundle(), tmp_path / "far", steering_input(), {"actions": far})
        assert not (tmp_path / "far").exists()

    def test_a_graph_that_is_cut_is_said_so(self, model: Callable[..., bytes]) -> None:
        whole = model()
        for length in range(1, len(whole), 97):
            with pytest.raises((IntegrityError, ConfigError), match=r"the model is not an ONNX graph|makes no tensor"):
                steer_model(whole[:length], "speed", {"actions": push()})

    def test_a_name_is_taken_once_and_the_bundle_is_not_written_over(self, steered: Bundle, tmp_path: Path) -> None:
        """The original stays what was signed and measured."""
        with pytest.raises(ConfigError, match="steered by speed already"):
            steer_bundle(steered, tmp_path / "again", steering_input(), {"actions": push()})
        with pytest.raises(ConfigError, match="would replace the bundle it is made from"):
            steer_bundle(steered, steered.folder, steering_input(name="other"), {"actions": push()})

    def test_the_tabletop_policy_answers_bit_by_bit_the_same_at_zero(
        self, tmp_path: Path, profile: RobotProfile, observe: Observe
    ) -> None:
        """And something else at 1; its detector, made for the graph as it was, stays behind."""
        original = load_bundle(TABLETOP)
        file = tmp_path / "direction.safetensors"
        save_file({"select_5": np.full(384, 0.05, np.float32)}, file)
        options = ["--name", "speed", "--direction", str(file), "--meaning", "a test", "--lower", "-2", "--upper", "2"]
        assert main(["policy", "add-steering", str(TABLETOP), str(tmp_path / "steered"), *options]) == 0
        bundle = load_bundle(tmp_path / "steered")
        assert set(bundle.content) == {"policy.onnx"}
        assert bundle.manifest.steering[0].meaning == "a test"
        chunks = {}
        plain, policy = BundlePolicy(original, profile), BundlePolicy(bundle, profile)
        look = observe(instruction="lift the red cube")
        chunks["plain"] = plain.infer(look).actions
        for value in (0.0, 1.0):
            policy.steer("speed", value)
            chunks[str(value)] = policy.infer(look).actions
        np.testing.assert_array_equal(chunks["0.0"], chunks["plain"])
        assert np.abs(chunks["1.0"] - chunks["plain"]).max() > 1e-3

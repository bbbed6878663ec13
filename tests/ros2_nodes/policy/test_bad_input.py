"""What a policy cannot use, against a real policy node: a damaged bundle is refused, unusable input is named."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sensor_msgs.msg import Image as ImageMessage
from sensor_msgs.msg import JointState

from tendon.core.types import Image
from tendon.graph.description import EXIT_REFUSED, describe
from tendon.policies.bundle.bundle import load_bundle, write_bundle
from tendon.ros2_nodes import wire
from tendon.ros2_nodes.base import qos
from tendon.ros2_nodes.clients.operator import Operator
from tests.ros2_nodes.running_graph import PATIENCE_S, PROFILE
from tests.ros2_nodes.tiny_bundle import write_tiny_bundle

pytestmark = pytest.mark.graph


def command(bundle: Path) -> list[str]:
    """Returns what starts the policy node alone."""
    return next(
        each for each in describe({"policy": str(bundle), "clock": "realtime"}).processes if each.name == "policy_node"
    ).command


def cut_off(folder: Path) -> None:
    """Leaves half of the graph, hashed after that."""
    bundle = load_bundle(folder)
    write_bundle(folder, bundle.manifest, {"policy.onnx": bundle.content["policy.onnx"][:1000]})


def other_size(folder: Path) -> None:
    """Sees larger images than the robot's camera gives."""
    bundle = load_bundle(folder)
    scene, *others = bundle.manifest.cameras
    manifest = replace(bundle.manifest, cameras=(replace(scene, width=256), *others))
    write_bundle(folder, manifest, bundle.content)


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (cut_off, r"policy\.onnx is not an ONNX graph: .*; export the bundle again"),
        (other_size, "camera scene size is 256x128, expected 128x128: set the size in profile panda"),
    ],
)
def test_a_bundle_that_cannot_be_used_is_one_clear_error(
    tmp_path: Path, damage: Callable[[Path], None], why: str
) -> None:
    """Before the node does anything else."""
    damage(folder := write_tiny_bundle(tmp_path / "tiny"))
    result = subprocess.run(command(folder), capture_output=True, text=True, timeout=90)
    assert result.returncode == EXIT_REFUSED, result.stderr
    assert re.search(f"^refused: .*{why}", result.stderr, re.MULTILINE), result.stderr
    assert "Traceback" not in result.stderr


@pytest.fixture(scope="module")
def operator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Operator]:
    """The policy node runs, and nobody else."""
    node = subprocess.Popen(command(write_tiny_bundle(tmp_path_factory.mktemp("policy") / "tiny")))
    operator = Operator("test")
    yield operator
    operator.close()
    node.terminate()
    node.wait(30)


@pytest.mark.parametrize(
    ("size", "age_s", "why"),
    [
        ((48, 64), 0.0, "camera scene: nothing of use has arrived .*: camera scene gives 64x48 px, .* has 128x128"),
        ((128, 128), 5.0, r"camera scene: nothing of use has arrived .* ms old, .*: check the clocks"),
        ((128, 128), 0.0, "waiting for an instruction"),
    ],
)
def test_images_it_cannot_use_are_named_before_anybody_arms(
    operator: Operator, size: tuple[int, int], age_s: float, why: str
) -> None:
    """Another size, or a camera whose clock is off; and all is well when they are right."""
    publishers = {
        camera.name: operator.node.create_publisher(ImageMessage, f"camera/{camera.name}/image_raw", qos.STREAM)
        for camera in PROFILE.cameras
    }
    states = operator.node.create_publisher(JointState, "joint_states", qos.STREAM)

    def told() -> bool:
        now_ns = operator.time.now_ns()
        home, rest = PROFILE.vector("home"), np.zeros(len(PROFILE.joints))
        states.publish(wire.joint_state_message(now_ns, PROFILE.joint_names, home, rest))
        for camera in PROFILE.cameras:
            height, width = size if camera.name == "scene" else (camera.height, camera.width)
            image = Image(stamp_ns=now_ns - round(1e9 * age_s), pixels=np.zeros((height, width, 3), np.uint8))
            publishers[camera.name].publish(wire.image_message(image, camera.frame))
        status = operator.reports.status("policy_node")
        return status is not None and re.search(why, status.text) is not None

    assert operator.wait(told, PATIENCE_S), operator.reports.status("policy_node")

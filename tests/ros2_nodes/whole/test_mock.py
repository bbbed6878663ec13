"""`backend:=mock`: every shipped profile moves through monitor, control node and filter, and stops with Ctrl-C."""

from __future__ import annotations

import contextlib
import itertools
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import yaml
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from sensor_msgs.msg import CameraInfo
from sensor_msgs.msg import Image as ImageMessage
from std_msgs.msg import String

from tendon.core.causes import Cause
from tendon.core.modes import PermissionState
from tendon.robots.profile import load_profile
from tendon.ros2_nodes import wire
from tendon.ros2_nodes.base import qos
from tests import ROOT
from tests.ros2_nodes.running_graph import RunningGraph

pytestmark = pytest.mark.graph

EXAMPLE = str(ROOT / "docs" / "examples" / "two_joint_arm" / "profile.yaml")
SHIPPED = ("panda", "fr3", "ur5e", "ur10e", "xarm7", "so101", "g1_arms", "talos_upper")
PROFILES = (*(pytest.param(name, marks=pytest.mark.laws) for name in SHIPPED), EXAMPLE)
"""One that is no shipped robot in `make test`; the others in `make test-laws`."""

SWUNG = {"g1_arms": 10, "talos_upper": 14}
"""The joint that is swung, by robot: the elbow of group "arm" of a humanoid, whose shoulder is next to its torso."""


@pytest.fixture(params=PROFILES)
def graph(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RunningGraph]:
    profile = load_profile(request.param)
    arguments = [f"robot:={request.param}", "backend:=mock", "policy:=none"]
    running = RunningGraph(
        tmp_path / "log", *arguments, profile=profile, source="teleop", joint=SWUNG.get(profile.name, 0)
    )
    yield running
    with contextlib.suppress(ProcessLookupError):
        running.end()


def test_a_teleoperated_robot_moves_inside_its_limits_goes_home_and_is_stopped_first_by_ctrl_c(
    graph: RunningGraph,
) -> None:
    """Chunks on teleop/action_chunk lead it; limits of position and speed are measured on joint_states."""
    home = graph.profile.vector("home")
    graph.ready()
    np.testing.assert_allclose(graph.states[-1][1], home, atol=1e-5)
    source = graph.operator.node.create_publisher(String, "control/source", qos.LATCHED)
    source.publish(String(data="teleop"))
    graph.set_in_motion()
    seen = len(graph.states)
    graph.wait(lambda: len(graph.states) > seen + 250, "two and a half seconds of motion")
    swung = np.ptp([state[1][graph.joint] for state in graph.states[seen:]])
    assert swung > 0.1, f"it swung by {swung:.3f} rad only"
    graph.hold_still()
    graph.operator.home()
    graph.wait(graph.operator.at_home, "home")
    source.publish(String(data="teleop"))
    graph.set_in_motion()
    graph.check_limits()
    assert graph.end() == 0
    assert "stopping the robot" in graph.log.read_text() and "the robot is at rest" in graph.log.read_text()
    graph.operator.wait(lambda: np.abs(graph.states[-1][2]).max() < 0.02, 5.0)  # the last states are still on their way
    assert np.abs(graph.states[-1][2]).max() < 0.02, "it ended in motion"


@pytest.fixture(scope="module")
def bearing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningGraph]:
    """An SO-101 whose joints say what they bear."""
    folder, shipped = tmp_path_factory.mktemp("bearing"), ROOT / "robots" / "so101"
    values = yaml.safe_load((shipped / "profile.yaml").read_text())
    values |= {key: str(shipped / values[key]) for key in ("urdf", "collisions")}
    for joint in values["joints"]:
        joint |= {"contact_effort": 30.0, "payload_effort": 20.0}
    path = folder / "profile.yaml"
    path.write_text(yaml.safe_dump(values))
    arguments = (f"robot:={path}", "backend:=mock", "policy:=none")
    running = RunningGraph(folder / "log", *arguments, profile=load_profile(path), source="teleop")
    yield running
    running.end()


def test_cameras_show_test_pictures_at_the_profiles_size_rate_and_frame(bearing: RunningGraph) -> None:
    frames: dict[str, list[ImageMessage]] = {camera.name: [] for camera in bearing.profile.cameras}
    infos: dict[str, list[CameraInfo]] = {camera.name: [] for camera in bearing.profile.cameras}
    node = bearing.operator.node
    for name in frames:
        node.create_subscription(ImageMessage, f"camera/{name}/image_raw", frames[name].append, qos.STREAM)
        node.create_subscription(CameraInfo, f"camera/{name}/camera_info", infos[name].append, qos.STREAM)
    bearing.wait(
        lambda: all(len(each) > 60 for each in (*frames.values(), *infos.values())), "60 frames of each camera"
    )
    for camera in bearing.profile.cameras:
        got = frames[camera.name]
        assert {(m.width, m.height, m.encoding, m.header.frame_id) for m in got} == {
            (camera.width, camera.height, "rgb8", camera.frame)
        }
        stamps = np.array([wire.time_ns(m.header.stamp) for m in got]) * 1e-9
        assert np.median(np.diff(stamps)) == pytest.approx(1 / camera.rate_hz, rel=0.2)
        pixels = [wire.image(message).pixels for message in got]
        assert all((a != b).any() for a, b in itertools.pairwise(pixels))
        info = infos[camera.name][-1]
        assert (info.width, info.height, info.header.frame_id) == (camera.width, camera.height, camera.frame)
        assert info.k[0] == info.k[4] == camera.width


def test_a_payload_slows_the_robot_down_and_a_contact_stops_it(bearing: RunningGraph) -> None:
    """A profile that limits what its joints bear; `effort` of the mock is what they say."""
    graph = bearing
    graph.ready()
    graph.operator.node.create_publisher(String, "control/source", qos.LATCHED).publish(String(data="teleop"))
    graph.set_in_motion()
    for effort, reason in ((25.0, "payload: "), (35.0, "contact: ")):
        graph.operator.set_parameter("mock_node", "effort", effort)
        graph.wait(lambda said=reason: said in graph.reason(), reason)
        assert graph.cause() is Cause.EFFORT
        assert (graph.state() is PermissionState.ARMED) == (effort == 25.0)


@pytest.mark.laws
@pytest.mark.parametrize("graph", ["ur5e"], indirect=True)
def test_a_lag_set_while_it_runs_is_seen_in_motion_and_a_wild_one_latches(graph: RunningGraph) -> None:
    """Half a second of lag is more than `tracking_tolerance` allows: the control node stops and says why."""
    graph.ready()
    graph.operator.node.create_publisher(String, "control/source", qos.LATCHED).publish(String(data="teleop"))
    graph.set_in_motion()
    client = graph.operator.node.create_client(SetParameters, "mock_node/set_parameters")
    graph.wait(client.service_is_ready, "parameters of mock_node")
    command = [sys.executable, "-m", "tendon.cli", "robot", "tracking", "ur5e"]
    said = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert said.returncode == 0 and "shoulder_pan_joint" in said.stdout, said.stdout + said.stderr
    answers = []
    for value in (5.0, 0.5):
        request = SetParameters.Request(parameters=[Parameter("lag_s", value=value).to_parameter_msg()])
        future = client.call_async(request)
        graph.wait(future.done, "an answer")
        answers.append(future.result().results[0])
    assert not answers[0].successful and "lag_s is 5.0, must be a finite number" in answers[0].reason
    assert answers[1].successful
    graph.wait(lambda: graph.cause() is Cause.TRACKING, "a stop because of tracking")

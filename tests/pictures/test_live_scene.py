"""The live view's logic without ROS and without a viewer: every shipped robot, and what is in the recording."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tendon.core.modes import Mode
from tendon.robots.collision.fit import load_meshes
from tendon.robots.environment import load_environment
from tendon.robots.kinematics import Kinematics
from tendon.robots.profile import load_profile
from tendon.safety.reports import ControlState
from tests import ROOT

rerun = pytest.importorskip("rerun")

EXAMPLE = ROOT / "docs" / "examples" / "two_joint_arm"
ROBOTS = ("panda", "fr3", "ur5e", "ur10e", "xarm7", "so101", "g1_arms", "talos_upper")


def record(path: Path, robot: str, environment: str | None = None, urdf: Path | None = None) -> dict[str, list[object]]:
    """Records a moment of a robot; returns component column -> values that are there."""
    from rerun.chunk import RrdReader

    from tendon.pictures.live_scene import TIMELINE, LiveScene

    profile = load_profile(robot)
    stream = rerun.RecordingStream("test")
    stream.save(path)
    around = load_environment(environment) if environment else None
    scene = LiveScene(stream, profile, around, load_meshes(urdf, None) if urdf else [])
    home, still = profile.vector("home"), np.zeros(len(profile.joints))
    scene.joints(1_000_000_000, home, still)
    scene.plan(1_000_000_000, "teleop", np.array([home, home]))
    for camera in profile.cameras:
        scene.image(1_000_000_000, camera.name, np.zeros((camera.height, camera.width, 3), dtype=np.uint8))
    for stamp_ns in (1_000_000_000, 2_000_000_000):
        state = ControlState(mode=Mode.RUNNING, event=1, reason="held", margin=0.25, binding="joint1 position")
        scene.state(stamp_ns, state)
    stream.flush()
    stream.disconnect()
    found: dict[str, list[object]] = {}
    for chunk in RrdReader(path).stream():
        batch = chunk.to_record_batch()
        for name in batch.schema.names:
            values = [value for value in batch.column(name).to_pylist() if value]
            found.setdefault(f"{chunk.entity_path}:{name}", []).extend(values)
    assert any(TIMELINE in name for name in found)
    return found


@pytest.mark.parametrize("robot", [*ROBOTS, str(EXAMPLE / "profile.yaml")])
def test_a_recording_of_every_shipped_robot_holds_links_cameras_plan_and_margin(robot: str, tmp_path: Path) -> None:
    profile = load_profile(robot)
    found = record(tmp_path / "run.rrd", robot, "tabletop" if robot == "panda" else None)
    text = "\n".join(found)
    assert profile.collision_file is not None
    for camera in profile.cameras:
        assert f"cameras/{camera.name}" in text
    for part in ("robot/plan/teleop", "safety/margin", "safety/mode", "robot/workspace", "shape0"):
        assert part in text, f"the recording lacks {part}"
    for joint in profile.joint_names:
        assert f"joints/position/{joint}" in text
    assert ("environment/table" in text) == (robot == "panda")


def test_a_link_is_where_kinematics_has_it_and_the_plan_is_the_tools_path(tmp_path: Path) -> None:
    found = record(tmp_path / "run.rrd", "ur5e")
    profile = load_profile("ur5e")
    tool, _ = Kinematics(profile).tool_pose(profile.vector("home"))
    strips = next(values for name, values in found.items() if "plan/teleop" in name and "strips" in name)
    np.testing.assert_allclose(np.array(strips[0]).reshape(-1, 3), [tool, tool], atol=1e-5)


def test_meshes_of_a_urdf_take_the_place_of_the_collision_model(tmp_path: Path) -> None:
    found = "\n".join(record(tmp_path / "run.rrd", str(EXAMPLE / "profile.yaml"), urdf=EXAMPLE / "arm.urdf"))
    assert "robot/forearm/mesh" in found and "shape0" not in found


def test_what_is_said_of_the_mode_is_logged_once_until_it_changes(tmp_path: Path) -> None:
    found = record(tmp_path / "run.rrd", "ur5e")
    logged = [values for name, values in found.items() if name.startswith("/safety/log") and "text" in name.lower()]
    assert sum(map(len, logged)) == 1

"""Views of a calibration on a running graph: the robot leads itself, is stopped, goes on; or somebody leads it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from tendon.calibration.cameras.camera_info import write_camera_info
from tendon.calibration.cameras.model import plain_model
from tendon.calibration.rig.parts import MAX_SPEED
from tendon.calibration.session import Session, SessionBoard, SessionCamera, Setup
from tendon.cli.root import run
from tendon.control.clearance.model import Clearance
from tendon.core.types import Array
from tendon.robots.environment import load_environment
from tendon.ros2_nodes.clients import guided_robot
from tendon.ros2_nodes.clients.guided_robot import GuidedRobot, WatchedRobot, watch_for_views
from tests.ros2_nodes.running_graph import PROFILE, RunningGraph

pytestmark = pytest.mark.graph
HOME = PROFILE.vector("home")
NAMES = PROFILE.joint_names


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningGraph]:
    running = RunningGraph(tmp_path_factory.mktemp("graph") / "log", "policy:=none")
    yield running
    running.end()


@pytest.fixture
def graph(shared: RunningGraph) -> Iterator[RunningGraph]:
    """That graph, not armed."""
    shared.ready()
    yield shared
    shared.stop()


def pose(change: float) -> Array:
    """A pose beside home, the fingers where they are."""
    joints = HOME.copy()
    joints[:7] += change * np.array([1.0, -0.5, 0.5, 0.5, 1.0, 1.0, 1.0])
    return joints


def new_session(folder: Path) -> Session:
    for camera in PROFILE.cameras:
        write_camera_info(plain_model(camera.width, camera.height, 100.0), camera.name, folder / f"{camera.name}.yaml")
    cameras = {"scene": "panda_link0", "wrist": "panda_hand"}
    setup = Setup(
        robot="panda",
        cameras={name: SessionCamera(link=link, camera_info=f"{name}.yaml") for name, link in cameras.items()},
        boards={"table": SessionBoard(link="panda_link0")},
    )
    return Session(folder, setup)


def test_it_leads_itself_through_the_filter_and_goes_on_after_a_stop(
    graph: RunningGraph, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    session, poses = new_session(tmp_path / "session"), [pose(change) for change in (0.1, -0.2, 0.1)]
    session.keep_plan(poses, NAMES)
    words = ["calibrate", "guide", str(session.folder), "--environment", "tabletop"]
    graph.wait(lambda: not graph.reason(), "nothing else keeps it from moving")
    assert run(words) == 2 and "it is not armed" in capfd.readouterr().err
    graph.arm()

    def stop_on_the_way() -> None:
        graph.operator.wait(lambda: any(session.shots()) and graph.moving(), 60.0)
        graph.stop()

    stopping = threading.Thread(target=stop_on_the_way)
    stopping.start()
    assert run(words) == 2 and "views that are there are kept" in capfd.readouterr().err
    stopping.join()
    before = {shot.pose for shot in session.shots()}
    assert before and before < {1, 2, 3}
    graph.arm()
    assert run(words) == 0, capfd.readouterr().err
    shots = list(session.shots())
    assert {(shot.pose, shot.camera) for shot in shots} == {(k, name) for k in (1, 2, 3) for name in ("scene", "wrist")}
    for shot in shots:
        assert np.abs([shot.joints[name] for name in NAMES] - poses[shot.pose - 1]).max() < 1e-2
        assert shot.speed < MAX_SPEED and session.pixels(shot.picture).any()
    graph.check_limits()


def test_views_are_taken_wherever_somebody_who_leads_it_lets_it_rest(
    graph: RunningGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, said = new_session(tmp_path / "session"), list[str]()
    rig = session.rig(PROFILE)
    graph.arm()
    leader = GuidedRobot(graph.operator, PROFILE, (), Clearance(PROFILE, load_environment("tabletop")))
    watched = WatchedRobot(graph.operator, PROFILE, ("scene", "wrist"))

    def answer(*asked: object) -> tuple[list[str], list[str]]:
        """There is no board on this table: the camera at the wrist is said to see one."""
        return (["table"], []) if "wrist" in str(asked[-1]) else ([], ["no board"])

    monkeypatch.setattr(guided_robot, "boards_in", answer)
    taken: list[int] = []
    watching = threading.Thread(
        target=lambda: taken.append(watch_for_views(watched, session, rig, 2, said.append)), daemon=True
    )
    watching.start()

    def heard_since(before: int) -> bool:
        return len(said) > before or bool(taken)

    # Whoever leads it goes on once the watcher has said a word about a pose; a busy machine may miss one.
    for change in (0.15, -0.15, 0.25, -0.25, 0.05, -0.05):
        before = len(said)
        leader.go(pose(change))
        graph.operator.wait(partial(heard_since, before), 30.0)
        if taken:
            break
    watching.join(30.0)
    assert taken == [2]
    assert {shot.camera for shot in session.shots()} == {"wrist"}
    assert sum("sees board table" in line for line in said) >= 2

"""Cameras of a running graph: each exposes at its own phase, and its pictures come after its latency."""

from __future__ import annotations

import itertools
import shutil
from pathlib import Path

import numpy as np
import pytest
import yaml
from sensor_msgs.msg import Image

from tendon.core.paths import share_folder
from tendon.graph import topics
from tendon.robots.profile import load_profile
from tendon.ros2_nodes import wire
from tendon.ros2_nodes.base import qos
from tendon.ros2_nodes.camera_node import told_apart
from tendon.safety.camera_watch import Frame
from tests.ros2_nodes.running_graph import RunningGraph

LATENCY_S, PHASE, PERIOD_NS = 0.06, 0.5, 50_000_000
BEGINNING = 10
"""Pictures that do not count: drawing begins when somebody takes them, and states go by while it is set up."""
CLOCK_NS = 20_000_000
"""How far the observer's simulated time may be behind: it goes in steps of a control period."""


def test_two_frames_of_a_view_in_which_nothing_moves_are_no_frozen_camera() -> None:
    """A policy may lead the arm out of a camera's view; the last bits differ, and a stamp has one frame."""
    view = np.full((4, 5, 3), 200, np.uint8)
    frames = [told_apart(view, number * PERIOD_NS) for number in range(40)]
    digests = [Frame.of(0, frame.tobytes()).digest for frame in frames]
    assert all(one != other for one, other in itertools.pairwise(digests))
    assert (told_apart(view, PERIOD_NS) == frames[1]).all()
    assert all(np.abs(frame.astype(int) - view).max() <= 1 for frame in frames) and (view == 200).all()


@pytest.mark.graph
def test_a_camera_has_its_own_phase_and_latency(tmp_path: Path) -> None:
    folder = tmp_path / "late"
    shutil.copytree(share_folder() / "robots" / "panda", folder)
    values = yaml.safe_load((folder / "profile.yaml").read_text(encoding="utf-8"))
    values["cameras"][1]["mount"] |= {"latency_s": LATENCY_S, "phase": PHASE}
    (folder / "profile.yaml").write_text(yaml.safe_dump(values), encoding="utf-8")
    profile = load_profile(str(folder))
    seen: dict[str, list[tuple[int, int]]] = {camera.name: [] for camera in profile.cameras}
    graph = RunningGraph(tmp_path / "log", f"robot:={folder}", "policy:=none", "scene:=100062", profile=profile)
    try:
        graph.ready()
        for name, frames in seen.items():

            def take(message: Image, frames: list[tuple[int, int]] = frames) -> None:
                frames.append((wire.time_ns(message.header.stamp), graph.now_ns()))

            graph.operator.node.create_subscription(Image, topics.image(name), take, qos.STREAM)
        graph.wait(lambda: min(map(len, seen.values())) >= BEGINNING + 20, "pictures of both")
    finally:
        graph.end()
    came_after: dict[str, float] = {}
    for name, mount_phase in (("scene", 0.0), ("wrist", PHASE)):
        stamps, arrivals = np.array(seen[name][BEGINNING:]).T
        late = (stamps / PERIOD_NS - mount_phase + 0.5) % 1.0 - 0.5
        punctual = np.abs(late) < 0.15
        # A busy machine may lose the state that a picture is of; the next state is drawn then, whatever its phase.
        after_gap = np.diff(stamps, prepend=0) > 1.2 * PERIOD_NS
        assert (punctual | after_gap).all() and punctual.mean() > 0.9, (name, late)
        came_after[name] = float(np.median(arrivals - stamps))
        assert np.diff(stamps[punctual]).min() > 0.8 * PERIOD_NS, "in order, one a period"
    assert came_after["wrist"] - came_after["scene"] > LATENCY_S * 1e9 - CLOCK_NS

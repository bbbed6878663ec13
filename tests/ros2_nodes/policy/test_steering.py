"""A running policy is steered by a parameter of its node: it obeys in motion, and refuses what does not fit."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator

import numpy as np
import pytest

from tendon.core.errors import StoppedError
from tendon.policies.bundle.bundle import load_bundle
from tendon.policies.export.convert.steering import steer_bundle
from tendon.policies.spec.steering import SteeringInput
from tendon.ros2_nodes.clients.witness import Witness
from tests.ros2_nodes.running_graph import PROFILE, RunningGraph
from tests.ros2_nodes.tiny_bundle import ROWS, write_tiny_bundle

pytestmark = pytest.mark.graph
TOLERANCE = 1e-3


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningGraph]:
    folder = tmp_path_factory.mktemp("steering")
    bundle = load_bundle(write_tiny_bundle(folder / "tiny"))
    rightward = np.zeros((ROWS, 4))
    rightward[:, 1] = -np.arange(1, ROWS + 1)  # 1 undoes the move to the left: the arm stays where it is
    number = SteeringInput(name="speed", lower=-1.0, upper=1.0, default=0.0, meaning="to the right")
    steer_bundle(bundle, folder / "steered", number, {"move": rightward})
    running = RunningGraph(folder / "log", f"policy:={folder / 'steered'}", "instruction:=left")
    running.ready()
    yield running
    running.end()
    shutil.rmtree(folder, ignore_errors=True)


def speed(graph: RunningGraph) -> float | None:
    return graph.policy().steer.get("speed")


def moves(graph: RunningGraph) -> bool:
    return bool(np.abs(graph.states[-1][2][:7]).max() > 0.05)


def test_it_is_steered_in_motion_without_a_jump(graph: RunningGraph) -> None:
    graph.wait(lambda: speed(graph) == 0.0, "what it starts with")
    graph.arm()
    graph.wait(lambda: moves(graph), "motion")
    witness = Witness(graph.operator.node, PROFILE)
    graph.operator.steer("speed", 1.0)
    graph.wait(lambda: speed(graph) == 1.0, "the effective value in diagnostics")
    graph.wait(graph.operator.at_rest, "rest, for the policy asks for no motion")
    graph.operator.steer("speed", 0.0)
    graph.wait(lambda: moves(graph), "motion as before")
    motion = witness.motion()
    step_s = np.diff(motion.time_ns)[:, None] * 1e-9
    acceleration = np.abs(np.diff(motion.velocity, axis=0) / step_s / PROFILE.vector("acceleration"))
    assert acceleration.max() <= 1.0 + TOLERANCE


def test_what_does_not_fit_is_refused_with_the_reason_and_changes_nothing(graph: RunningGraph) -> None:
    graph.wait(lambda: speed(graph) == 0.0, "what it starts from")
    for name, value, why in (("speed", 1.5, "from -1.0 to 1.0"), ("caution", 0.5, "no policy here is steered by")):
        with pytest.raises(StoppedError, match=why):
            graph.operator.steer(name, value)
    time.sleep(1.0)  # diagnostics come twice a second
    assert speed(graph) == 0.0


def test_the_command_says_what_is_set_and_what_is_wrong(graph: RunningGraph) -> None:
    def steer(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "tendon.cli", "policy", "steer", *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, env={**os.environ}, check=False)

    done = steer("speed", "-0.5")
    assert (done.returncode, done.stdout) == (0, "speed: -0.5\n"), done.stderr
    refused = steer("speed", "7")
    assert refused.returncode == 2
    assert "must be a number from -1.0 to 1.0" in refused.stderr

"""In mid-motion: another policy, a task the new one does not know, an interruption, and on from there."""

from __future__ import annotations

import shutil
import signal
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from std_msgs.msg import String

from tendon.cli import main
from tendon.core.modes import Mode, PermissionState, Source
from tendon.graph.leading import UNLED
from tendon.policies.bundle.bundle import load_bundle, write_bundle
from tendon.policies.spec.manifest import InstructionInput
from tendon.ros2_nodes.base import qos
from tendon.ros2_nodes.clients.witness import Witness
from tendon.ros2_nodes.policy_node import OLD_WORDS_S
from tendon.safety.reports import ControlState
from tests.ros2_nodes.running_graph import PROFILE, RunningGraph
from tests.ros2_nodes.tiny_bundle import write_tiny_bundle

pytestmark = pytest.mark.graph
TOLERANCE = 1e-3


def write_other_bundle(folder: Path) -> Path:
    """Writes the tiny bundle under another name; it does not know the word `right`."""
    bundle = load_bundle(write_tiny_bundle(folder))
    reads = bundle.manifest.instruction
    assert isinstance(reads, InstructionInput)
    words = tuple("west" if word == "right" else word for word in reads.vocabulary)
    manifest = replace(bundle.manifest, name="other", instruction=replace(reads, vocabulary=words))
    write_bundle(folder, manifest, bundle.content)
    return folder


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningGraph]:
    folder = tmp_path_factory.mktemp("switching")
    first, other = write_tiny_bundle(folder / "tiny"), write_other_bundle(folder / "other")
    running = RunningGraph(folder / "log", f"policy:={first}", f"standby:={other}", "instruction:=left")
    running.ready()
    yield running
    running.end()
    shutil.rmtree(folder, ignore_errors=True)


def moves(graph: RunningGraph) -> bool:
    return bool(np.abs(graph.states[-1][2][:7]).max() > 0.05)


def leader(graph: RunningGraph) -> Source | None:
    """Returns whom the control node follows; `None` before it was heard."""
    state = graph.operator.reports.newest(ControlState)
    return None if state is None else state.source


def largest_acceleration(witness: Witness) -> float:
    """Returns the largest commanded acceleration, as a part of its limit."""
    motion = witness.motion()
    step_s = np.diff(motion.time_ns)[:, None] * 1e-9
    return float(np.abs(np.diff(motion.velocity, axis=0) / step_s / PROFILE.vector("acceleration")).max())


def test_the_policy_changes_in_motion_without_a_jump(graph: RunningGraph) -> None:
    graph.wait(lambda: (graph.policy().policy, graph.policy().standby) == ("tiny", ("other",)), "both policies")
    graph.arm()
    graph.wait(lambda: moves(graph), "motion")
    witness = Witness(graph.operator.node, PROFILE)
    for name in ("other", "tiny", "other"):
        graph.operator.select(name)
        graph.wait(lambda name=name: graph.policy().policy == name, f"policy {name}")
        graph.wait(lambda: len(witness.motion().time_ns) > 0, "commands")
        time.sleep(0.5)
        assert moves(graph)
    assert graph.mode() is Mode.RUNNING
    assert largest_acceleration(witness) <= 1.0 + TOLERANCE


def test_a_policy_that_does_not_know_the_task_or_is_not_there_is_not_taken(graph: RunningGraph) -> None:
    graph.arm()
    graph.operator.select("tiny")
    graph.wait(lambda: graph.policy().policy == "tiny", "tiny")
    graph.operator.say("right")
    graph.wait(lambda: graph.policy().instruction == "right", "the task")
    for name, why in (("other", "does not know 'right'"), ("nobody", "loaded are: tiny, other")):
        graph.operator.select(name)
        graph.wait(lambda why=why: why in graph.policy().selection_refusal, why)
        assert graph.policy().policy == "tiny"


def test_an_interruption_brings_it_to_rest_at_once_and_the_next_task_goes_on(
    graph: RunningGraph, capfd: pytest.CaptureFixture[str]
) -> None:
    graph.arm()
    graph.operator.say("left")
    graph.wait(lambda: graph.policy().instruction == "left" and moves(graph), "motion")
    witness = Witness(graph.operator.node, PROFILE)
    graph.operator.say("stop")
    graph.wait(graph.operator.at_rest, "rest")
    graph.wait(lambda: graph.policy().instruction == "", "no task")
    assert main(["say", "stop"]) == 0, "it is taken, though no task comes of it"
    assert "the policy has no task now: the robot is held" in capfd.readouterr().out
    assert graph.mode() in (Mode.ARMED, Mode.RUNNING)
    assert graph.state() is PermissionState.ARMED
    assert main(["say", "right"]) == 0
    assert "the policy goes for it: right" in capfd.readouterr().out
    graph.wait(lambda: moves(graph), "motion again, without being armed again")
    assert largest_acceleration(witness) <= 1.0 + TOLERANCE


def test_after_an_interruption_a_hand_that_leads_is_not_interrupted_by_a_task(
    graph: RunningGraph, capfd: pytest.CaptureFixture[str]
) -> None:
    """It was given the lead by `ros2 topic pub --once`, which a node that only overhears does not hear."""
    graph.arm()
    graph.operator.say("stop")
    graph.wait(lambda: leader(graph) is Source.HOLD, "hold")
    source = graph.operator.node.create_publisher(String, "control/source", qos.EACH)
    graph.wait(lambda: source.get_subscription_count() > 0, "the control node")
    source.publish(String(data="teleop"))
    graph.wait(lambda: leader(graph) is Source.TELEOP, "teleop")
    time.sleep(0.3)
    assert main(["say", "left"]) == 0
    assert "the task is taken, but teleop leads: end it, then say a task" in capfd.readouterr().out
    graph.wait(lambda: graph.policy().instruction == "left", "the task")
    graph.wait(lambda: graph.policy().text == UNLED[Source.TELEOP], "that it waits for the hand")
    assert leader(graph) is Source.TELEOP
    source.publish(String(data="hold"))
    graph.wait(lambda: leader(graph) is Source.HOLD, "hold again")
    graph.wait(lambda: graph.policy().text == UNLED[Source.HOLD], "that nobody leads")
    graph.operator.say("right")
    graph.wait(lambda: leader(graph) is Source.POLICY, "the policy: who holds the robot may go on by a task")


def test_a_policy_node_that_is_restarted_ends_no_hold_by_its_first_instruction(graph: RunningGraph) -> None:
    """Nobody said anything, and the robot moved as soon as it was armed."""
    graph.arm()
    source = graph.operator.node.create_publisher(String, "control/source", qos.LATCHED)
    source.publish(String(data="hold"))
    graph.wait(lambda: leader(graph) is Source.HOLD, "hold")
    pid = graph.pid("policy_node")
    graph.signal("policy_node", signal.SIGKILL)
    graph.wait(lambda: graph.pid("policy_node") not in (None, pid), "the restart")
    graph.wait(lambda: graph.state() is PermissionState.LATCHED, "a latch")
    graph.arm()
    graph.wait(lambda: graph.policy().instruction != "", "what was said last, or its own first instruction")
    time.sleep(1.0)
    assert leader(graph) is Source.HOLD and graph.operator.at_rest()
    time.sleep(OLD_WORDS_S)
    graph.operator.say("left")
    graph.wait(lambda: leader(graph) is Source.POLICY, "the policy: a person said so")

"""Policies on other machines in the real graph: they move the robot as a local one does, and what breaks is a stop."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tendon.core.modes import Mode
from tendon.graph.description import EXIT_REFUSED, describe
from tests.policies.remote.contract_files import DROID, changed
from tests.ros2_nodes.policy import moody_server
from tests.ros2_nodes.running_graph import RunningGraph
from tests.ros2_nodes.tiny_bundle import write_tiny_bundle

pytestmark = pytest.mark.graph

MOODY = Path(moody_server.__file__)
LATE_MS = 200.0
"""Well above what an inference takes, well below what a late one does."""
DEAD_S, MAX_REASONS = 5.0, 4
"""How long a server is gone, in which 25 observations are offered; and in how many ways that shows."""
MOVING, RESTING = 0.02, 0.002
"""How fast joint 1 turns [rad/s]: at least, at most."""


class Served:
    """A policy server in a process of its own, which can be killed and started again on its port."""

    def __init__(self, *command: str) -> None:
        self._command = (sys.executable, *command)
        self.port = 0
        self.start()

    def start(self) -> None:
        """Starts it and waits until it says its port."""
        self._process = subprocess.Popen([*self._command, str(self.port)], stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        said = self._process.stdout.readline()
        found = re.search(r"(?:ws://127\.0\.0\.1:|^)(\d+)", said)
        assert found, said
        self.port = int(found[1])

    def signal(self, number: signal.Signals) -> None:
        """Signals it."""
        self._process.send_signal(number)

    def kill(self) -> None:
        """Ends it with no time to say anything; not an error when it has ended."""
        self._process.kill()
        self._process.wait(10)


@pytest.fixture(scope="module")
def moody() -> Iterator[Served]:
    server = Served(str(MOODY))
    yield server
    server.kill()


@pytest.fixture(scope="module")
def tendon_serve(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    bundle = write_tiny_bundle(tmp_path_factory.mktemp("served") / "tiny")
    server = Served("-m", "tendon.cli", "policy", "serve", str(bundle), "--port")
    yield server
    server.kill()


def droid_file(folder: Path, port: int, path: str = "", value: Any = None) -> Path:
    """Writes a file for the moody server, with one thing changed."""
    content = changed({**DROID, "url": f"ws://127.0.0.1:{port}", "timeout_s": 1.0}, path, value)
    file = folder / "moody.yaml"
    file.write_text(yaml.safe_dump(content))
    return file


@pytest.mark.parametrize(
    ("path", "value", "why"),
    [
        ("url", "ws://127.0.0.1:1", "policy server ws://127.0.0.1:1 is out of reach"),
        ("policy|state|observation/joint_position", None, "KeyError: 'observation/joint_position'"),
        ("policy|action|rows", 12, r"actions of the answer has shape \(10, 8\), expected 12x8"),
    ],
)
def test_what_does_not_fit_at_start_is_one_clear_error(
    moody: Served, tmp_path: Path, path: str, value: Any, why: str
) -> None:
    """No server, wrong keys, another dimension: the node refuses, and with it the graph."""
    file = droid_file(tmp_path, moody.port, path, value)
    node = next(each for each in describe({"policy": str(file)}).processes if each.name == "policy_node")
    result = subprocess.run(node.command, capture_output=True, text=True, timeout=90)
    assert result.returncode == EXIT_REFUSED, result.stderr
    assert re.search(f"^refused: .*{why}", result.stderr, re.MULTILINE), result.stderr
    assert not re.search("^Traceback", result.stderr, re.MULTILINE), result.stderr


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory, moody: Served, tendon_serve: Served) -> Iterator[RunningGraph]:
    folder = tmp_path_factory.mktemp("remote")
    standby = folder / "standby.yaml"
    standby.write_text(f"kind: tendon\nurl: ws://127.0.0.1:{tendon_serve.port}\ntimeout_s: 1.0\n")
    running = RunningGraph(
        folder / "log",
        f"policy:={droid_file(folder, moody.port)}",
        f"standby:={standby}",
        "instruction:=left",
    )
    running.ready()
    running.wait(
        lambda: (running.policy().policy, running.policy().standby) == ("pi05_droid", ("tiny",)), "both policies"
    )
    yield running
    running.check_limits()
    running.end()


def drift(graph: RunningGraph) -> float:
    """Returns how fast joint 1 turns: positive to the left."""
    recent = graph.states[-30:]
    return float((recent[-1][1][0] - recent[0][1][0]) / (recent[-1][0] - recent[0][0]))


def moves(graph: RunningGraph, side: str) -> None:
    """Gives a task and waits until the robot moves that way."""
    sign = 1.0 if side == "left" else -1.0
    graph.arm()
    graph.operator.say(side)
    graph.wait(lambda: sign * drift(graph) > MOVING, f"motion to the {side}")
    graph.wait(lambda: "inferring" in graph.policy().text, "no error")


def stops(graph: RunningGraph, why: str) -> None:
    """Waits until the policy node says what is wrong and the plan is over; the robot stays armed."""
    graph.wait(lambda: re.search(why, graph.policy().text) is not None, why)
    graph.wait(lambda: abs(drift(graph)) < RESTING, "rest")
    assert graph.mode() in (Mode.ARMED, Mode.RUNNING)


def test_a_server_that_becomes_late_slows_simulated_time_and_not_the_robot(graph: RunningGraph) -> None:
    """As with a local policy, an inference takes what is stated; what is executed before its answer is kept."""
    moves(graph, "left")
    graph.wait(lambda: graph.policy().prefix_rows >= 1, "a part of the plan kept")
    graph.operator.say("late")
    graph.wait(lambda: (graph.policy().inference_ms or 0.0) > LATE_MS, "late answers")
    status = graph.policy()
    assert status.network_ms is not None and status.inference_ms is not None
    assert 0.0 < status.network_ms < status.inference_ms
    begin_ns = graph.now_ns()
    graph.wait(lambda: graph.now_ns() > begin_ns + 1_000_000_000, "time goes on")
    assert drift(graph) > MOVING
    assert (graph.policy().delay_ms or 0.0) < LATE_MS


@pytest.mark.parametrize(
    ("mood", "why"),
    [
        ("slow", r"policy server ws://127.0.0.1:\d+ did not answer in 1 s"),
        ("keys", "the answer lacks actions, it has: action"),
        pytest.param("narrow", r"actions of the answer has shape \(10, 7\), expected 10x8", marks=pytest.mark.laws),
        pytest.param("huge", "a message is too large", marks=pytest.mark.laws),
    ],
)
def test_a_bad_answer_is_a_stop_and_a_good_one_goes_on(graph: RunningGraph, mood: str, why: str) -> None:
    """Without being armed again."""
    moves(graph, "right")
    graph.operator.say(mood)
    stops(graph, why)
    moves(graph, "left")


def test_a_server_that_dies_in_mid_chunk_is_a_stop_and_is_found_again(graph: RunningGraph, moody: Served) -> None:
    """Half an answer is none; the log has a line for each reason, not for each attempt, and one when it is back."""
    moves(graph, "right")
    before = len(graph.log.read_text())
    graph.operator.say("half")
    stops(graph, "policy server .* (went away|is out of reach)")
    moody.kill()
    time.sleep(DEAD_S)
    lines = graph.log.read_text()[before:].splitlines()
    assert 1 <= sum("inference failed" in line for line in lines) <= MAX_REASONS, lines
    moody.start()
    moves(graph, "left")
    lines = graph.log.read_text()[before:].splitlines()
    assert sum("inference failed" in line for line in lines) <= MAX_REASONS, lines
    graph.wait(lambda: "inference is back after" in graph.log.read_text()[before:], "a line that it is back")
    lines = graph.log.read_text()[before:].splitlines()
    (back,) = (line for line in lines if "inference is back after" in line)
    assert float(back.partition("back after ")[2].split()[0]) > DEAD_S


@pytest.mark.laws
def test_another_server_takes_over_in_motion_and_its_death_and_silence_are_stops(
    graph: RunningGraph, tendon_serve: Served
) -> None:
    """`tendon policy serve` as the standby; killed, it is found again; stopped, it is not waited for."""
    moves(graph, "right")
    graph.operator.select("tiny")
    graph.wait(lambda: graph.policy().policy == "tiny", "the other policy")
    moves(graph, "left")
    assert graph.policy().prefix_rows >= 1
    graph.operator.say("rigth")
    graph.wait(lambda: "did you mean right" in graph.policy().text, "its own words")
    moves(graph, "right")
    tendon_serve.kill()
    stops(graph, "policy server .* is out of reach")
    tendon_serve.start()
    moves(graph, "left")
    tendon_serve.signal(signal.SIGSTOP)
    stops(graph, r"policy server .* did not answer in 1 s|timed out")
    tendon_serve.signal(signal.SIGCONT)
    moves(graph, "right")

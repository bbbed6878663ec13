"""An arm and a policy of one's own on the mock robot, as a newcomer would start them: examples/own_policy.py."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest
from sensor_msgs.msg import JointState

from tendon.core.errors import StoppedError
from tendon.ros2_nodes.base import qos
from tendon.ros2_nodes.clients.operator import Operator
from tests import ROOT

pytestmark = pytest.mark.graph

POLICY = str(ROOT / "examples" / "own_policy.py")
PROFILE = str(ROOT / "docs" / "examples" / "two_joint_arm" / "profile.yaml")
TENDON = [sys.executable, "-m", "tendon.cli", "run"]


@pytest.fixture
def processes() -> Iterator[dict[str, subprocess.Popen[bytes]]]:
    """The terminals of docs/how-to/own-robot.md."""
    commands = {
        "graph": [*TENDON, f"robot:={PROFILE}", "backend:=mock", "policy:=none"],
        "policy": [sys.executable, POLICY],
    }
    running = {name: subprocess.Popen(command, start_new_session=True) for name, command in commands.items()}
    yield running
    for name in ("graph", "policy"):
        running[name].send_signal(signal.SIGINT)
    for process in running.values():
        try:
            process.wait(20)
        finally:
            process.kill()


def test_the_example_arm_moves_under_the_example_policy_and_rests_without_it(
    processes: dict[str, subprocess.Popen[bytes]],
) -> None:
    operator = Operator("test")
    turns: list[float] = []
    operator.node.create_subscription(JointState, "joint_states", lambda m: turns.append(m.position[0]), qos.STREAM)

    def moved() -> bool:
        """Arms again when a busy machine has stopped it."""
        for request in (operator.reset, operator.arm):
            with contextlib.suppress(StoppedError):
                request(timeout_s=2.0)
        turns.clear()
        return operator.wait(lambda: bool(turns) and max(turns) - min(turns) > 0.1, 4.0)

    try:
        assert operator.wait(moved, 60.0), "the arm did not move"
        processes["policy"].send_signal(signal.SIGINT)
        assert operator.wait(operator.at_rest, 10.0), "the arm did not come to rest without a policy"
    finally:
        operator.close()


@pytest.mark.parametrize("request_to_end", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_example_policy_ends_without_a_traceback(request_to_end: signal.Signals) -> None:
    """Whether Ctrl-C, a service manager or a closed terminal asks for it."""
    command = [sys.executable, POLICY]
    policy = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    operator = Operator("test")
    try:
        assert operator.wait(lambda: "own_policy" in operator.nodes(), 60)
        policy.send_signal(request_to_end)
        _, said = policy.communicate(timeout=30)
    finally:
        operator.close()
        policy.kill()
    assert policy.returncode == 0, said
    assert "Traceback" not in said

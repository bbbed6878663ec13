"""A process whose middleware hangs when its node is gone."""

from __future__ import annotations

import signal
import subprocess
import sys

HANGS = """
import ctypes, sys
from tendon.ros2_nodes.base import runtime
from tendon.ros2_nodes.base.shell import NodeShell

runtime.GONE_S = 1

class Hanging:
    def __del__(self):
        ctypes.PyDLL(None).pause()  # for ever, and with Python's lock held, as Fast DDS may

class HangingNode(NodeShell):
    def __init__(self):
        super().__init__("hanging")
        self.hanging = Hanging()
        print("ready", flush=True)

sys.exit(runtime.run_node(HangingNode, runtime.Urgency.THIRD))
"""


def test_a_middleware_that_hangs_at_the_end_does_not_keep_the_process() -> None:
    """A closed control node was left behind for 24 minutes, with most of a core."""
    command = [sys.executable, "-c", HANGS, "--ros-args", "-p", "robot:=panda"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGTERM)
        try:
            _, said = process.communicate(timeout=30)
        finally:
            process.kill()
    assert process.returncode == -signal.SIGALRM, said

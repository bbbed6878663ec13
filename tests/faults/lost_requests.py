"""How long a stop service takes to answer where packets are lost: two processes of their own, and nothing else.

Runs as a program too, `python -m tests.faults.lost_requests serve` or `ask COUNT`: that is what the two processes do.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tendon.graph import topics
from tendon.graph.description import RANGE_VARIABLE
from tendon.graph.domain import free_domain
from tendon.ros2_nodes import base
from tendon.ros2_nodes.base.runtime import TRANSPORT_VARIABLE, prepare_process, require_ros
from tests.faults.lost_packets import lose

SETTINGS = Path(base.__file__).parent
LONGEST_S, PAUSE_S, SETTLE_S = 30.0, 0.05, 1.0
_WRITERS = re.compile(r"<data_writer.*</data_writer>", re.DOTALL)


def answer_times(share: float, count: int, defaults: bool = False) -> list[float]:
    """Returns how long each of `count` requests took to be answered [s], one after the other; at most `LONGEST_S`.

    Args:
        share: of the packets that are lost on their way to either process.
        count: of requests.
        defaults: reliability as Fast DDS has it, instead of Tendon's settings of it.
    """
    environment = {**os.environ, "ROS_DOMAIN_ID": str(free_domain()), RANGE_VARIABLE: "LOCALHOST"}
    environment.pop(TRANSPORT_VARIABLE, None)
    with tempfile.TemporaryDirectory() as folder:
        if defaults:
            profile = Path(folder, "defaults.xml")
            profile.write_text(_WRITERS.sub("", (SETTINGS / "transport_small_local.xml").read_text()))
            environment |= {TRANSPORT_VARIABLE: str(profile), RANGE_VARIABLE: "SYSTEM_DEFAULT"}
        started = [_start(environment, "serve"), _start(environment, "ask", str(count))]
        try:
            for process in started:
                assert _hear(process) == "ready"
            for process in started:
                assert process.stdin is not None
                process.stdin.write(f"{share}\n")
                process.stdin.flush()
                assert _hear(process) == "losing"
            return [float(_hear(started[-1])) for _ in range(count)]
        finally:
            for process in started:
                process.kill()
                process.wait()


def _start(environment: dict[str, str], *words: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.faults.lost_requests", *words]
    return subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def _hear(process: subprocess.Popen[str]) -> str:
    """Returns the next line that a process says."""
    assert process.stdout is not None
    return process.stdout.readline().strip()


def serve() -> None:
    """Says that it serves, loses what it is told to, and answers until it is killed."""
    require_ros()
    prepare_process()
    import rclpy
    from rclpy.experimental import EventsExecutor
    from std_srvs.srv import Trigger

    rclpy.init()
    node, executor = rclpy.create_node("server"), EventsExecutor()
    node.create_service(Trigger, topics.STOP, lambda _, response: response)
    executor.add_node(node)
    _lose_when_told()
    while True:
        executor.spin_once(1.0)


def ask(count: int) -> None:
    """Says that it found the service, loses what it is told to, and asks."""
    require_ros()
    import rclpy
    from std_srvs.srv import Trigger

    rclpy.init()
    node = rclpy.create_node("client")
    client = node.create_client(Trigger, topics.STOP)
    assert client.wait_for_service(LONGEST_S)
    time.sleep(SETTLE_S)
    _lose_when_told()
    for _ in range(count):
        begin_s = time.monotonic()
        rclpy.spin_until_future_complete(node, client.call_async(Trigger.Request()), timeout_sec=LONGEST_S)
        print(time.monotonic() - begin_s, flush=True)
        time.sleep(PAUSE_S)


def _lose_when_told() -> None:
    """Says that it is ready, and drops the share of packets that it reads."""
    print("ready", flush=True)
    lose([os.getpid()], float(sys.stdin.readline()))
    print("losing", flush=True)


if __name__ == "__main__":
    serve() if sys.argv[1] == "serve" else ask(int(sys.argv[2]))

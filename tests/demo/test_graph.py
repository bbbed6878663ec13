"""`tendon demo` on the real graph, with a policy that knows none of the words: it must fail, loudly and safely."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import av
import pytest

from tests.ros2_nodes.tiny_bundle import write_tiny_bundle

pytestmark = pytest.mark.graph
PATIENCE_S = 240.0


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(write_tiny_bundle(tmp_path_factory.mktemp("tiny")))


def _start(bundle: str, out: Path, limit_s: float) -> subprocess.Popen[str]:
    environment = {name: value for name, value in os.environ.items() if name != "ROS_DOMAIN_ID"}
    options = ["--bundle", bundle, "--out", str(out), "--limit-s", str(limit_s)]
    return subprocess.Popen(
        [sys.executable, "-c", "import sys; from tendon.cli import main; sys.exit(main())", "demo", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
        start_new_session=True,
    )


def test_tasks_that_are_not_done_make_it_fail_and_everything_is_left_behind(bundle: str, tmp_path: Path) -> None:
    demo = _start(bundle, tmp_path, limit_s=0.5)
    text, _ = demo.communicate(timeout=PATIENCE_S)
    assert demo.returncode == 1, text
    assert "DEMO FAILED: 3 of 3 instructions" in text
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["done"] is False
    assert len(summary["instructions"]) == 3
    assert not any(row["success"] for row in summary["instructions"])
    assert summary["measured"]["simulation"]["joint_state_rate_hz"] > 50
    assert summary["measured"]["cameras"]["scene"]["rate_hz"] > 5
    assert (tmp_path / "timeline.png").stat().st_size > 10_000
    with av.open(str(tmp_path / "demo.mp4")) as container:
        assert container.streams.video[0].codec_context.name == "h264"
        assert sum(1 for _ in container.decode(video=0)) > 20


@pytest.mark.parametrize("request_to_end", [signal.SIGINT, pytest.param(signal.SIGHUP, marks=pytest.mark.laws)])
def test_a_request_to_end_stops_the_robot_first_and_leaves_no_process(
    bundle: str, tmp_path: Path, request_to_end: signal.Signals
) -> None:
    """Ctrl-C, or ssh that drops: then nobody reads any more what it prints."""
    demo = _start(bundle, tmp_path, limit_s=60.0)
    assert demo.stdout is not None
    said = []
    deadline = time.monotonic() + PATIENCE_S
    for line in demo.stdout:
        said.append(line)
        if "armed" in line or time.monotonic() > deadline:
            break
    demo.send_signal(request_to_end)
    if request_to_end is signal.SIGHUP:
        demo.stdout.close()
        demo.wait(60.0)
    else:
        said += demo.communicate(timeout=60.0)[0]
        assert "it was interrupted" in "".join(said)
    assert demo.returncode == 130, "".join(said)
    log = (tmp_path / "graph.log").read_text()
    assert re.search(r"stopping the robot(.|\n)*the robot is at rest", log)
    running = subprocess.run(["ps", "-eo", "ppid,args"], capture_output=True, text=True, check=True).stdout
    assert not [line for line in running.splitlines() if line.split()[0] == str(demo.pid)]

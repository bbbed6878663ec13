"""Graphs that tests start: they end with the test, whatever ends it, show their log, and never meet."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

pytest_plugins = "pytester"
pytestmark = pytest.mark.graph

PATIENCE_S = 60.0
MOCK = 'backend="mock", policy="none"'


@pytest.fixture(autouse=True)
def _in_its_own_folder(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\naddopts = -p no:cacheprovider --basetemp=graphs")


def left(folder: Path) -> list[str]:
    """Returns the command lines of processes that keep their state below a folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            environment = (process / "environ").read_bytes().split(b"\0")
            command = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
        if any(each.startswith(f"TENDON_STATE={folder}".encode()) for each in environment) and command:
            found.append(command)
    return found


def gone(folder: Path) -> bool:
    """Returns whether all of them have ended, for which a graph has some time."""
    deadline = time.monotonic() + PATIENCE_S
    while left(folder) and time.monotonic() < deadline:
        time.sleep(0.1)
    return not left(folder)


def test_a_process_that_is_left_would_be_found(tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "60"], env={**os.environ, "TENDON_STATE": str(tmp_path / "state")}) as process:
        while not any("sleep" in command for command in left(tmp_path)):  # /proc does not tell of it at once
            assert process.poll() is None
            time.sleep(0.01)
        process.kill()
    assert gone(tmp_path)


def test_two_graphs_do_not_meet_failed_tests_show_logs_and_ctrl_c_leaves_no_process(pytester: pytest.Pytester) -> None:
    """Tests of one file share two graphs: one passes, one waits for no stop, one kills a graph, one is interrupted."""
    pytester.makepyfile(
        f"""
        import os, signal, time

        import pytest

        from tendon.core.modes import Mode
        from tendon.testing import assert_stop

        @pytest.fixture(scope="module")
        def both(module_tendon_graph):
            return module_tendon_graph({MOCK}), module_tendon_graph({MOCK}, robot="ur5e")

        def test_they_do_not_meet(both):
            one, other = both
            assert one.domain != other.domain
            other.wait_until_ready()
            one.arm()
            one.run_for(0.5)
            assert one.mode().moving
            other.wait(lambda: other.mode() is not None, "its mode, which a busy machine tells late")
            assert other.mode() is Mode.STANDBY
            for graph, foreign in ((one, "shoulder_pan_joint"), (other, "panda_joint1")):
                assert len([n for n in graph.operator.nodes() if n == "control_node"]) == 1
                assert foreign not in graph.profile.joint_names and graph.witness.measured
            one.stop()

        def test_a_stop_that_does_not_come(both):
            both[0].arm()
            assert_stop(both[0], "camera", within_s=0.2)

        def test_a_graph_that_is_dead(both):
            both[1].process.kill()
            both[1].run_for(1.0)

        def test_ctrl_c(both):
            print("it runs", both[0].log, flush=True)
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(10)
        """
    )
    result = pytester.runpytest_subprocess("-q", "-s")
    result.assert_outcomes(passed=1, failed=2)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    said = result.stdout.str()
    assert f"it runs {pytester.path}" in said
    assert "the graph has ended; the last lines of" in said
    assert "no stop for camera within 0.2 s of arming: none came" in said
    assert "- graph in ROS domain " in said and "safety_monitor | " in said
    assert gone(pytester.path)


def test_a_crash_leaves_no_process_behind(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        f"""
        import os, signal, time

        def test_it(tendon_graph):
            graph = tendon_graph({MOCK})
            graph.wait_until_ready()
            print("it runs", graph.log, flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(10)
        """
    )
    said = pytester.runpytest_subprocess("-q", "-s").stdout.str()
    assert f"it runs {pytester.path}" in said
    assert gone(pytester.path)


def test_a_graph_that_does_not_start_says_why(pytester: pytest.Pytester) -> None:
    """What only a node finds out: its own parameters file."""
    (pytester.path / "params.yaml").write_text("mock_node:\n  ros__parameters:\n    lag_s: -1.0\n")
    pytester.makepyfile(
        f"""
        def test_it(tendon_graph):
            tendon_graph({MOCK}, params_file="params.yaml").arm()
        """
    )
    result = pytester.runpytest_subprocess("-q")
    result.assert_outcomes(failed=1)
    assert "mock_node" in result.stdout.str() and "lag_s" in result.stdout.str()
    assert not left(pytester.path)

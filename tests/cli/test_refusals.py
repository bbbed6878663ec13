"""The `tendon` command where something is missing or wrong: one clear line, never a traceback."""

from __future__ import annotations

import functools
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from unittest import mock

import pytest

from tendon.cli import main
from tendon.graph.domain import (
    PORT_BASE,
    PORTS_A_DOMAIN,
    UNICAST_OFFSET,
    domains_in_use,
    free_domain,
    in_use,
    no_graph,
)
from tendon.ros2_nodes.base import middleware
from tests import ROOT

WITHOUT_ROS = "import sys; sys.modules['rclpy'] = None; from tendon.cli import main; sys.exit(main(sys.argv[1:]))"


def run_without_ros(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "COLUMNS": "200"}
    return subprocess.run(
        [sys.executable, "-c", WITHOUT_ROS, *arguments], capture_output=True, text=True, timeout=120, env=environment
    )


@pytest.mark.parametrize("arguments", [("run", "policy:=none"), ("safety", "stop"), ("say", "left")])
def test_without_ros_a_command_that_needs_it_says_how_to_get_it(arguments: tuple[str, ...]) -> None:
    result = run_without_ros(*arguments)
    assert result.returncode == 2
    assert 'pip install "tendon-vla[ros]"' in result.stderr and "source a ROS 2" in result.stderr
    assert "Traceback" not in result.stderr


def test_without_ros_the_doctor_works_names_it_and_fails() -> None:
    result = run_without_ros("doctor")
    assert result.returncode == 1
    assert "missing" in result.stdout and 'pip install "tendon-vla[ros]"' in result.stdout
    assert "onnxruntime" in result.stdout


NEEDS_ROS = [
    ("run", "policy:=none"),
    ("demo",),
    ("status",),
    ("say", "left"),
    ("safety", "stop"),
    ("safety", "arm"),
    ("policy", "switch", "other"),
    ("policy", "steer", "speed", "1"),
]


def run_with_middleware(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "RMW_IMPLEMENTATION": name, "COLUMNS": "200"}
    command = [sys.executable, "-m", "tendon.cli", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)


def names_middlewares(code: int, error: str) -> None:
    """Checks one line that names the middleware which is not installed, and those that are."""
    assert code == 2, error
    assert "RMW_IMPLEMENTATION is rmw_zenoh_cpp, which is not installed" in error
    assert "installed: rmw_fastrtps_cpp" in error and "unset it" in error
    assert error.count("\n") == 1, error


@pytest.mark.parametrize("arguments", NEEDS_ROS[:1], ids=" ".join)
def test_a_middleware_that_is_not_installed_is_one_line_that_names_those_that_are(arguments: tuple[str, ...]) -> None:
    """ROS's own libraries end the process with an error of theirs."""
    result = run_with_middleware("rmw_zenoh_cpp", *arguments)
    names_middlewares(result.returncode, result.stderr)


trying = functools.cache(middleware._try)
"""A process says once which middleware it has."""


@pytest.mark.parametrize("arguments", NEEDS_ROS[1:], ids=" ".join)
def test_so_it_is_whichever_command_needs_one(
    arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """In this process, which may have loaded ROS: a command looks before it does."""
    monkeypatch.delitem(sys.modules, "rclpy", raising=False)
    monkeypatch.setattr(middleware, "_try", trying)
    monkeypatch.setenv("RMW_IMPLEMENTATION", "rmw_zenoh_cpp")
    monkeypatch.setenv("COLUMNS", "200")
    out = ("--out", str(tmp_path)) if arguments == ("demo",) else ()
    with mock.patch.dict(os.environ):  # in which it names settings of its transport
        names_middlewares(main([*arguments, *out]), capfd.readouterr().err)


def test_the_doctor_names_a_middleware_that_is_not_installed_and_goes_on() -> None:
    result = run_with_middleware("rmw_zenoh_cpp", "doctor")
    assert result.returncode == 1, result.stdout + result.stderr
    assert "RMW_IMPLEMENTATION is rmw_zenoh_cpp, which is not installed" in result.stdout
    assert "CPU cores" in result.stdout and not result.stderr


def test_settings_of_the_middleware_that_are_not_there_do_not_refuse_a_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fast DDS would go on without any, and the answer might take seconds."""
    monkeypatch.setenv("FASTRTPS_DEFAULT_PROFILES_FILE", "/no/such/profile.xml")
    result = run_with_middleware("rmw_fastrtps_cpp", "safety", "stop")
    assert "names /no/such/profile.xml, which is no file: Tendon's own is used" in result.stderr
    assert "no graph" in result.stderr and "XMLPARSER" not in result.stdout + result.stderr


def test_the_doctor_of_a_complete_machine_succeeds_and_a_middleware_that_is_installed_is_taken() -> None:
    result = run_with_middleware("rmw_fastrtps_cpp", "doctor")
    assert result.returncode == 0, result.stdout + result.stderr
    assert "rmw_fastrtps_cpp" in result.stdout
    assert "rclpy" in result.stdout and "/dev/shm" in result.stdout


@pytest.mark.parametrize(
    "words", ["demo", "eval run tabletop --seeds 100000:100001", "data demos --out x --seeds 0:1", "run"]
)
def test_without_a_simulator_a_command_that_simulates_is_one_line(words: str, tmp_path: Path) -> None:
    """The line says what works all the same."""
    hidden = "import sys; sys.modules.update(pybullet=None, mujoco=None)"
    code = f"{hidden}; from tendon.cli import main; sys.exit(main({words.split()!r}))"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, cwd=tmp_path, env=environment
    )
    assert result.returncode == 2, result.stdout + result.stderr
    assert "this needs a simulator: " in result.stderr and "backend:=mock" in result.stderr
    assert result.stderr.count("\n") == 1


def test_help_imports_no_subcommand() -> None:
    seen = "print(*(name in sys.modules for name in ('torch', 'rclpy', 'numpy')))"
    code = f"import sys; from tendon.cli import main; main(['--help']); {seen}"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert result.stdout.split()[-3:] == ["False"] * 3, result.stderr


@pytest.mark.parametrize("port", ["-1", "65536", "99999"])
def test_a_port_that_does_not_exist_is_refused_before_the_policy_is_loaded(port: str) -> None:
    command = [sys.executable, "-m", "tendon.cli", "policy", "serve", "tabletop", "--port", port]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (result.returncode, result.stdout) == (2, "")
    assert "'--port'" in result.stderr and result.stderr.count("\n") == 1, result.stderr


class TestWithoutAGraph:
    """Whoever asks a graph for something is told that there is none, and where there may be one."""

    @pytest.mark.parametrize(
        "arguments",
        [
            ("safety", "stop"),
            ("safety", "reset"),
            ("safety", "arm"),
            ("say", "left"),
            ("policy", "switch", "other"),
            ("policy", "steer", "speed", "1"),
        ],
    )
    def test_the_domain_is_named(
        self, arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
    ) -> None:
        """The test below asks in a process of its own."""
        domain = str(free_domain())
        monkeypatch.setenv("ROS_DOMAIN_ID", domain)
        with mock.patch.dict(os.environ):  # in which it names settings of its transport
            assert main(list(arguments)) == 2
        error = capfd.readouterr().err
        assert f"no graph in domain {domain}: start one with `tendon run`" in error
        assert error.count("\n") == 1

    def test_a_graph_in_another_namespace_is_named_within_seconds(self) -> None:
        """It took half a minute and said that the machine was too busy."""
        code = "import rclpy; rclpy.init(); n = rclpy.create_node('safety_monitor', namespace='left'); rclpy.spin(n)"
        place = {**os.environ, "ROS_DOMAIN_ID": str(free_domain()), "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
        with subprocess.Popen([sys.executable, "-c", code], env=place) as other:
            try:
                while other.poll() is None and not in_use(int(place["ROS_DOMAIN_ID"])):
                    time.sleep(0.1)
                command = [sys.executable, "-m", "tendon.cli", "safety", "stop"]
                result = subprocess.run(command, capture_output=True, text=True, timeout=15, env=place)
            finally:
                other.kill()
        assert result.returncode == 2
        assert "in namespace /, but in /left: name it, such as `tendon --namespace /left ...`" in result.stderr

    def test_domains_that_this_machine_is_in_are_named(self) -> None:
        domain = free_domain()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as participant:
            participant.bind(("", PORT_BASE + PORTS_A_DOMAIN * domain + UNICAST_OFFSET))
            assert domain in domains_in_use()
            named = no_graph(domain + 1).partition("this machine is in ")[2].partition(" (")[0].split(", ")
            assert str(domain) in named
            assert str(domain) not in no_graph(domain).partition("this machine is in ")[2].split(" (")[0].split(", ")
        assert domain not in domains_in_use()


def test_a_log_folder_that_cannot_be_written_keeps_no_stop_back() -> None:
    """Rclpy starts no context without one: `tendon safety stop` ended in its traceback, and the robot moved on."""
    environment = {**os.environ, "ROS_LOG_DIR": "/proc/nope", "ROS_DOMAIN_ID": str(free_domain())}
    command = [sys.executable, "-m", "tendon", "safety", "stop"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)
    assert ended.returncode == 2 and "Traceback" not in ended.stderr
    assert "ROS_LOG_DIR /proc/nope cannot be written" in ended.stderr and "no graph" in ended.stderr


def test_the_log_of_another_robot_is_not_taken_for_ones_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "log"
    folder.mkdir()
    time_and_process = "20261129T131533Z-77-0.jsonl"
    for age, place in enumerate(("ur5e-43.a", "panda-43", "panda-43.a.b", "panda-7.a")):
        file = folder / f"{place}-{time_and_process}"
        file.write_text("")
        os.utime(file, (age, age))
    monkeypatch.setenv("TENDON_STATE", str(tmp_path))
    monkeypatch.setenv("ROS_DOMAIN_ID", "43")
    for namespace, place in (("", "panda-43"), ("a", "ur5e-43.a"), ("/a/b", "panda-43.a.b")):
        monkeypatch.setenv("ROS_NAMESPACE", namespace)
        main(["safety", "log"])
        said = capsys.readouterr()
        assert f"{place}-{time_and_process}" in "".join((said.out + said.err).split())
    monkeypatch.setenv("ROS_NAMESPACE", "c")
    assert main(["safety", "log"]) == 2
    said_c = capsys.readouterr().err
    assert "no graph of ROS domain 43, namespace c left an event log" in said_c and "panda-7.a" in said_c

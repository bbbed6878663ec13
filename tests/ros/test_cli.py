"""The `tendon` command where something is missing or wrong: one clear line, never a traceback."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

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
    assert 'pip install "tendon[ros]"' in result.stderr and "source a ROS 2" in result.stderr
    assert "Traceback" not in result.stderr


def test_without_ros_the_doctor_works_names_it_and_fails() -> None:
    result = run_without_ros("doctor")
    assert result.returncode == 1
    assert "missing" in result.stdout and 'pip install "tendon[ros]"' in result.stdout
    assert "onnxruntime" in result.stdout


def test_the_doctor_of_a_complete_machine_succeeds() -> None:
    result = subprocess.run([sys.executable, "-m", "tendon.cli", "doctor"], capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stdout
    assert "rclpy" in result.stdout and "/dev/shm" in result.stdout


def test_help_imports_no_subcommand() -> None:
    seen = "print('torch' in sys.modules, 'rclpy' in sys.modules)"
    code = f"import sys; from tendon.cli import build_parser; build_parser(None); {seen}"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert result.stdout.split() == ["False", "False"], result.stderr

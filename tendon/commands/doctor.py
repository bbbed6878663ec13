"""Say what is installed, what is missing and how to get it.

Examples:
  tendon doctor
  tendon doctor --graph
"""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from tendon.cli.survey import report, take_survey
from tendon.core.distribution import DISTRIBUTION, pip_install
from tendon.core.errors import ConfigError, MissingDependencyError, TendonError
from tendon.core.loopback import loopback_problem
from tendon.core.paths import share_folder
from tendon.graph.domain import domain_id, free_domain, in_use
from tendon.graph.node_imports import BACKEND_NODES, NODES, import_failures

SHARED_MEMORY = Path("/dev/shm")
MIN_SHARED_MEMORY = 256 << 20
RECEIVE_BUFFER = Path("/proc/sys/net/core/rmem_max")
MIN_RECEIVE_BUFFER = 4 << 20
MIN_CORES = 2

LOG_WIDTH = 240
"""Columns of the table in a file or a pipe, where commands to copy must not be broken over lines."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One line of the report.

    Attributes:
        what: was looked at.
        found: version or state; empty when it is missing.
        advice: how to get or better it; empty when all is well.
        needed: for what.
        required: whether `tendon run` cannot work without it.
    """

    what: str
    found: str
    advice: str = ""
    needed: str = ""
    required: bool = False

    @property
    def verdict(self) -> str:
        """One word for the table."""
        if not self.advice:
            return "ok"
        if self.found:
            return "look"
        return "missing" if self.required else "absent"


PACKAGES = (
    ("numpy", "numpy", "everything", pip_install(), True),
    ("pin", "pinocchio", "kinematics", pip_install(), True),
    ("pybullet", "pybullet", "backend:=sim, demos, evaluation", pip_install("sim"), False),
    ("mujoco", "mujoco", "the same, beyond Python 3.11", pip_install("mujoco"), False),
    ("gymnasium", "gymnasium", "the Gymnasium env", pip_install("sim"), False),
    ("av", "av", "videos", pip_install("sim"), False),
    ("mcap", "mcap", "recordings", pip_install("data"), False),
    ("pyarrow", "pyarrow", "datasets", pip_install("data"), False),
    ("rerun-sdk", "rerun", "tendon view", pip_install("view"), False),
    ("websockets", "websockets", "policy servers", pip_install("remote"), False),
    ("evdev", "evdev", "teleoperation by gamepad", pip_install("teleop"), False),
    ("pyspacemouse", "pyspacemouse", "teleoperation by SpaceMouse", pip_install("teleop"), False),
    ("torch", "torch", "training and export only", pip_install("train"), False),
    ("openvino", "openvino", "faster inference on the CPU", pip_install("openvino"), False),
    ("tensorrt", "tensorrt", "TensorRT inference", pip_install("gpu"), False),
)
"""Distribution, module, what it is for, how to get it, and whether the graph needs it."""


def command(
    graph: Annotated[bool, typer.Option("--graph", help="The running graph too, as tendon status.")] = False,
) -> int:
    """Prints the report; returns 1 when something `tendon run` needs, or the running graph, is missing."""
    findings = list(examine())
    table = Table(title="tendon doctor", title_justify="left")
    for column in ("", "what", "found", "needed for", "how to get or better it"):
        table.add_column(column, overflow="fold")
    colours = {"ok": "green", "look": "yellow", "absent": "yellow", "missing": "red"}
    for finding in findings:
        colour = colours[finding.verdict]
        table.add_row(
            f"[{colour}]{finding.verdict}[/]",
            finding.what,
            finding.found or "-",
            finding.needed,
            _plain(finding.advice),
        )
    Console(width=None if sys.stdout.isatty() else LOG_WIDTH).print(table)
    missing = any(finding.required and not finding.found for finding in findings)
    return int(report(take_survey(()), as_json=False) or missing) if graph else int(missing)


def examine() -> Iterator[Finding]:
    """Yields what there is to say about this machine."""
    yield Finding(what="Python", found=platform.python_version(), needed="everything", required=True)
    yield Finding(
        what="tendon", found=_version(DISTRIBUTION) or "from a source tree", needed="everything", required=True
    )
    for distribution, module, needed, advice, required in PACKAGES:
        found = _version(distribution) or ("installed" if importlib.util.find_spec(module) else "")
        yield Finding(what=distribution, found=found, advice="" if found else advice, needed=needed, required=required)
    yield _onnxruntime()
    yield from _ros()
    yield from _bundles()
    yield from _simulators()
    yield from _machine()


def _onnxruntime() -> Finding:
    from tendon.policies.engines.engine import PRECISIONS, install_runtime, installed, runtimes

    needed, gpu = "policies", shutil.which("nvidia-smi") is not None
    if not installed("cpu"):
        best = install_runtime("gpu" if gpu else "cpu")
        return Finding(what="onnxruntime", found="", advice=best, needed=needed, required=True)
    engines, packages = [name for name in PRECISIONS if installed(name)], runtimes()
    advice = ""
    if len(packages) > 1:
        advice = f"two packages of the same files; keep one: {install_runtime('gpu' if gpu else 'cpu')}"
    elif gpu and "cuda" not in engines:
        advice = f"there is a GPU: {install_runtime('gpu')}"
    return Finding(
        what="onnxruntime",
        found=f"{', '.join(packages) or 'of the system'} (engines: {', '.join(engines)})",
        advice=advice,
        needed=needed,
        required=True,
    )


def _ros() -> Iterator[Finding]:
    from tendon.ros2_nodes.base.runtime import require_ros

    needed = "the graph"
    try:
        require_ros()
    except MissingDependencyError as error:
        yield Finding(what="rclpy", found="", advice=str(error), needed=needed, required=True)
        return
    except ConfigError as error:
        yield Finding(what="rmw", found="", advice=str(error), needed=needed, required=True)
        return
    distro = os.environ.get("ROS_DISTRO", "")
    version = f"{distro} (sourced)" if distro else _version("ros-jazzy-rclpy") or "installed"
    yield Finding(what="rclpy", found=version, needed=needed, required=True)
    yield from _nodes()
    yield _rmw()
    domain = domain_id()
    busy = in_use(domain)
    advice = f"if that is no graph of yours: ROS_DOMAIN_ID={free_domain()}" if busy else ""
    yield Finding(what="ROS domain", found=f"{domain}, {'in use' if busy else 'free'}", advice=advice, needed=needed)


def _rmw() -> Finding:
    from tendon.ros2_nodes.base.middleware import middleware_name

    name = middleware_name()
    advice = "" if name == "rmw_fastrtps_cpp" else "its shared memory is not tuned, see docs/results/transport.md"
    return Finding(what="rmw", found=name, advice=advice, needed="the graph", required=True)


def _nodes() -> Iterator[Finding]:
    """Imports each node, as the graph will: a package that only one of them needs would not be missed otherwise."""
    needed = dict.fromkeys(NODES, "the graph")
    needed |= {node: f"backend:={backend}" for backend, nodes in BACKEND_NODES.items() for node in nodes}
    failures = import_failures(needed)
    for node, (said, distribution) in failures.items():
        advice = f"pip install {distribution}" if distribution else "see docs/how-to/robot.md, The machine"
        if node in BACKEND_NODES["sim"]:
            advice = pip_install("sim")
        user = needed.get(node, "the graph")
        yield Finding(what=node, found="", advice=f"{advice} ({said})", needed=user, required=user == "the graph")
    if not failures:
        yield Finding(what="nodes", found=f"{len(needed)} can be imported", needed="the graph")


def _simulators() -> Iterator[Finding]:
    """Draws a picture in each simulator: a library that only drawing needs would not be missed otherwise."""
    from tendon.robots.profile import load_profile
    from tendon.sim.frame_time import time_frame
    from tendon.sim.simulators import SIMULATORS

    for module, name in SIMULATORS.items():
        if importlib.util.find_spec(module) is None:
            continue
        what, needed = f"{name}: a picture", "backend:=sim"
        try:
            took = time_frame(load_profile("panda"), module)
        except TendonError as error:
            yield Finding(what=what, found="", advice=str(error), needed=needed)
            continue
        found = f"{took.width}x{took.height} in {took.frame_ms:.1f} ms, a step of physics in {took.step_ms:.2f} ms"
        yield Finding(what=what, found=found, needed=needed)


def _bundles() -> Iterator[Finding]:
    from tendon.policies.bundle.bundle import load_bundle

    folders = sorted(path.parent for path in (share_folder() / "bundles").glob("*/bundle.yaml"))
    if not folders:
        yield Finding(
            what="bundle", found="", advice="tendon policy train, then tendon policy export", needed="policy_node"
        )
    for folder in folders:
        try:
            bundle = load_bundle(folder)
            size = sum(map(len, bundle.content.values())) / 1e6
            yield Finding(what=f"bundle {folder.name}", found=f"{size:.1f} MB, hashes match", needed="policy_node")
        except TendonError as error:
            yield Finding(what=f"bundle {folder.name}", found="refused", advice=str(error), needed="policy_node")


def _machine() -> Iterator[Finding]:
    cores = len(os.sched_getaffinity(0))
    advice = f"at least {MIN_CORES} are needed in real time; simulated time works on fewer"
    yield Finding(what="CPU cores", found=str(cores), advice="" if cores >= MIN_CORES else advice, needed="real time")
    if SHARED_MEMORY.is_dir():
        size = shutil.disk_usage(SHARED_MEMORY).total
        found, advice = f"{size / (1 << 20):.0f} MB", ""
        if not os.access(SHARED_MEMORY, os.W_OK):
            found, advice = f"{found}, read-only", "images go by UDP, which takes longer: mount it for writing"
        elif size < MIN_SHARED_MEMORY:
            advice = "in a container: --shm-size=1g, or --ipc=host"
        yield Finding(what="/dev/shm", found=found, advice=advice, needed="images between nodes")
    if advice := loopback_problem():
        yield Finding(what="loopback network", found="", advice=advice, needed="all nodes", required=True)
    if RECEIVE_BUFFER.is_file():
        most = int(RECEIVE_BUFFER.read_text())
        advice = "to lose fewer of them: sysctl -w net.core.rmem_max=4194304"
        yield Finding(
            what="UDP receive buffer",
            found=f"{most >> 10} KiB at most",
            advice="" if most >= MIN_RECEIVE_BUFFER else advice,
            needed="messages that wait for a busy node",
        )
    try:
        policy, parameters = os.sched_getscheduler(0), os.sched_getparam(0)
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        os.sched_setscheduler(0, policy, parameters)
        yield Finding(what="real-time scheduling", found="allowed", needed="steady control on a loaded machine")
    except OSError:
        advice = "rtprio in /etc/security/limits.conf; in a container: --ulimit rtprio=99 --cap-add=SYS_NICE"
        yield Finding(
            what="real-time scheduling", found="not allowed", advice=advice, needed="steady control on a loaded machine"
        )


def _version(distribution: str) -> str:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return ""


def _plain(text: str) -> str:
    return text.replace("[", "\\[")

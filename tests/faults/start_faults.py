"""The faults that must keep a robot from moving at all: a changed bundle, a mismatch, a reset too early, restarts."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

import yaml

from tendon.core.errors import StoppedError
from tendon.core.modes import Mode
from tendon.graph.description import EXIT_REFUSED
from tendon.policies.adapter.matching import robot_digests
from tendon.policies.bundle.bundle import load_bundle, sign_bundle, write_bundle
from tendon.policies.bundle.signature import DEMAND_VARIABLE, generate_keys
from tendon.ros2_nodes.clients.witness import Witness
from tests.faults.trial import Trial
from tests.ros2_nodes.running_graph import PROFILE, RunningGraph
from tests.ros2_nodes.tiny_bundle import write_tiny_bundle

Run = Callable[[Random, Path], Trial]


@dataclass(frozen=True, kw_only=True)
class StartFault:
    """One row: how to try it, `None` when what it is about is not built yet."""

    row: str
    name: str
    run: Run | None
    note: str = ""
    quick: bool = False


def _flip(folder: Path, random: Random) -> str:
    path = folder / "policy.onnx"
    data = bytearray(path.read_bytes())
    data[random.randrange(len(data))] ^= 1 << random.randrange(8)
    path.write_bytes(data)
    return "was changed"


def _link(folder: Path, random: Random) -> str:
    outside = folder.with_name("outside.onnx")
    (folder / "policy.onnx").rename(outside)
    (folder / "policy.onnx").symlink_to(outside)
    return "symbolic link"


def _pickle(folder: Path, random: Random) -> str:
    raw = yaml.safe_load((folder / "bundle.yaml").read_text())
    data = pickle.dumps({"weights": [random.random()]})
    (folder / "policy.onnx").write_bytes(data)
    from hashlib import sha256

    raw["files"]["policy.onnx"] = sha256(data).hexdigest()
    (folder / "bundle.yaml").write_text(yaml.safe_dump(raw))
    return "pickle"


def _escape(folder: Path, random: Random) -> str:
    raw = yaml.safe_load((folder / "bundle.yaml").read_text())
    raw["files"][random.choice(("../x.onnx", "/etc/x.onnx", "a/../../x.onnx"))] = "0" * 64
    (folder / "bundle.yaml").write_text(yaml.safe_dump(raw))
    return "plain path inside"


def _resigned(folder: Path, random: Random) -> str:
    generate_keys(folder.with_name(f"key{random.random()}"))
    key = next(folder.parent.glob("key*[0-9]"))
    sign_bundle(folder, key)
    path = folder / "bundle.yaml"
    path.write_text(path.read_text().replace("step_s: 0.1", "step_s: 0.2"))
    return "signature"


def _unsigned(folder: Path, random: Random) -> str:
    return "not signed"


def _swapped(folder: Path, random: Random) -> str:
    other = (folder / "policy.onnx").read_bytes() + b"\0"
    (folder / "policy.onnx").write_bytes(other[: random.randrange(len(other))])
    return "was changed"


ALTERED = (_flip, _link, _pickle, _escape, _resigned, _unsigned, _swapped)


def _altered(random: Random, folder: Path) -> Trial:
    """A policy node is started on a bundle that was changed in one way."""
    alter = random.choice(ALTERED)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        bundle = write_tiny_bundle(Path(scratch, "bundle"))
        reason = alter(bundle, random)
        return _refused(bundle, reason, demand=alter is _unsigned)


def _mismatched(random: Random, folder: Path) -> Trial:
    """A policy node is started on a bundle that is bound to a robot which differs in one part."""
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        bundle = load_bundle(write_tiny_bundle(Path(scratch, "bundle")))
        digests = robot_digests(PROFILE)
        part = random.choice(sorted({*digests, "calibration"}))
        bound = replace(bundle.manifest, made_for=digests | {part: "0" * 64})
        write_bundle(bundle.folder, bound, bundle.content)
        return _refused(bundle.folder, part, demand=False)


def _refused(bundle: Path, reason: str, demand: bool) -> Trial:
    command = [sys.executable, "-m", "tendon.ros2_nodes.policy_node", "--ros-args", "-p", f"bundle:={bundle}"]
    environment = {**os.environ, DEMAND_VARIABLE: "1" if demand else "0"}
    began_s = time.monotonic()
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment, check=False)
    took_s = time.monotonic() - began_s
    lines = [line for line in (result.stdout + result.stderr).splitlines() if "refused:" in line]
    problem = ""
    if result.returncode != EXIT_REFUSED or len(lines) != 1 or reason not in lines[0]:
        problem = f"exit code {result.returncode}, said {lines or (result.stdout + result.stderr)[-200:]}"
    return Trial(reaction_s=took_s, sign=f"exit code {result.returncode}, one line", problem=problem)


def _early_reset(random: Random, folder: Path) -> Trial:
    """The robot's joint states are gone: reset is refused until they are back, arming needs its own call."""
    graph = RunningGraph(folder / f"reset-{time.monotonic_ns()}.log", "policy:=none", "clock:=realtime")
    try:
        graph.ready()
        graph.arm()
        problem = ""
        graph.signal("sim_node", signal.SIGSTOP)
        began_s = time.monotonic()
        graph.wait(lambda: graph.mode() is Mode.LATCHED, "latched")
        took_s = time.monotonic() - began_s
        time.sleep(0.2)  # both sides know by now
        if not _refuses(graph):
            problem = "reset while the joint states were gone"
        graph.signal("sim_node", signal.SIGCONT)
        graph.wait(lambda: not _refuses(graph), "reset when they are back")
        if not graph.operator.wait(lambda: graph.mode() is Mode.STANDBY, 5.0):
            problem = f"after the reset it is {graph.mode()}"
        time.sleep(0.3)
        if not graph.operator.at_rest():
            problem = "the reset moved it"
        elif graph.mode() is not Mode.STANDBY:
            problem = f"after the reset it is {graph.mode()}"
        return Trial(reaction_s=took_s, sign="latched, reset refused", problem=problem)
    finally:
        graph.end()


def _refuses(graph: RunningGraph) -> bool:
    try:
        graph.operator.reset()
    except StoppedError:
        return True
    return False


def _restart_loop(random: Random, folder: Path) -> Trial:
    """A node that dies as soon as it is there ends the graph; nothing arms and nothing moves."""
    graph = RunningGraph(folder / f"loop-{time.monotonic_ns()}.log", "policy:=none")
    try:
        witness = Witness(graph.operator.node, PROFILE)
        graph.ready()
        graph.arm()
        began_ns = graph.now_ns()
        began_s = time.monotonic()
        pid: int | None = 0
        deaths = 0
        while graph.alive() and time.monotonic() - began_s < 40.0:
            new = graph.pid("control_node")
            if new is not None and new != pid:
                time.sleep(0.5 * random.random())
                graph.signal("control_node", signal.SIGKILL)
                pid, deaths = new, deaths + 1
            time.sleep(0.02)
        motion = witness.motion()
        moved = bool(len(motion.time_ns)) and float(motion.speed.max(initial=0.0)) > 0.02
        armed = any(sign.mode is not None and sign.mode.moving for sign in witness.signs if sign.at_ns > began_ns)
        problem = "it moved" if moved else "it armed" if armed else "the graph went on" if graph.alive() else ""
        return Trial(reaction_s=time.monotonic() - began_s, sign=f"graph ended after {deaths} deaths", problem=problem)
    finally:
        graph.end()


FAULTS = (
    StartFault(row="model altered or swapped, path escape", name="one of 7 changes", run=_altered, quick=True),
    StartFault(row="bundle, profile, calibration do not match", name="one part differs", run=_mismatched, quick=True),
    StartFault(row="reset while the cause is present", name="reset without joint states", run=_early_reset),
    StartFault(row="restart loop", name="control_node killed at each start", run=_restart_loop),
    StartFault(row="console or deadman lost", name="console", run=None, note="not built yet"),
    StartFault(row="forged console request", name="console", run=None, note="not built yet"),
)

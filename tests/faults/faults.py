"""The faults of `docs/results/faults.md` that strike a moving robot: how each is made, undone, and what must follow.

A fault is one entry of `FAULTS`. It is made by a function of the bench, which returns when the fault is there.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum

import numpy as np

from tendon.core.errors import StoppedError
from tests.faults import chunks, impostors
from tests.faults.bench import Bench
from tests.faults.disk import RecordingDisk
from tests.faults.lost_packets import lose
from tests.ros2_nodes.running_graph import PROFILE

JAMMED = "panda_joint7"
"""It travels furthest in a swing."""

Make = Callable[[Bench], None]


class Expect(Enum):
    """What a fault must lead to."""

    STOP = "stop"
    """The robot comes to rest and stays there until reset and arm."""
    REST = "rest"
    """It comes to rest, and may go on when the fault is gone."""
    HOLD = "hold"
    """It is over before anybody can undo it: the robot plays its stop, and goes on from there or stays latched."""
    GONE = "gone"
    """The robot side is alone: the simulator plays its stop to the end and leaves."""
    SHAPED = "shaped"
    """It moves on inside its limits, or holds: the fault has no other effect."""


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One way to break a graph in motion.

    Attributes:
        row: of the table in `docs/results/faults.md`.
        name: of this fault.
        make: makes it.
        undo: takes it away.
        expect: what must follow.
        graph: the kind it strikes, see `Bench.use`.
        lasts_s: how long it is there at least.
        apart_s: how long after the robot was set in motion it is made, and a moment more.
        restarts: the node that a supervisor starts again.
        quick: part of the subset that CI runs.
        namespace: needs a network namespace of its own.
        loses_packets: reaches for the sockets of the nodes, which not every container allows.
        clock: of the graph it strikes, simulated or realtime; empty for either.
        counts_from: returns when the fault is there for a node that looks; by default when it was made.
    """

    row: str
    name: str
    make: Make
    undo: Make = lambda bench: None
    expect: Expect = Expect.STOP
    graph: str = "swing"
    lasts_s: float = 0.0
    apart_s: float = 0.0
    restarts: str = ""
    quick: bool = False
    namespace: bool = False
    loses_packets: bool = False
    clock: str = ""
    counts_from: Callable[[Bench, int], int] = lambda bench, began_ns: began_ns


RECORDING = "disk full, slow, crash while recording"


def _recorded(
    how: str, strike: Callable[[RecordingDisk], None], heal: Callable[[RecordingDisk], None], told: bool = True
) -> Fault:
    def make(bench: Bench) -> None:
        bench.record()
        strike(bench.recordings)
        if told:
            bench.graph.wait(bench.recorder_complains, "the recorder says so", 10.0)

    return Fault(
        row=RECORDING,
        name=f"disk of recordings {how}",
        make=make,
        undo=lambda bench: heal(bench.recordings),
        expect=Expect.SHAPED,
        graph="recorded",
        lasts_s=2.0,
    )


def _signals(node: str, number: signal.Signals) -> Make:
    return lambda bench: bench.signal(node, number)


def _frozen(row: str, node: str, **more: object) -> Fault:
    name = more.pop("name", f"{node} frozen (-STOP)")
    return Fault(  # type: ignore[arg-type]
        row=row, name=name, make=_signals(node, signal.SIGSTOP), undo=_signals(node, signal.SIGCONT), **more
    )


def _killed(row: str, node: str, **more: object) -> Fault:
    name = f"{node} killed (-9)"
    return Fault(row=row, name=name, make=_signals(node, signal.SIGKILL), restarts=node, **more)  # type: ignore[arg-type]


def _late(bench: Bench) -> None:
    """From now on a chunk takes 1.5 s from its observation, and covers 1 s."""
    bench.hold_still()
    chunks.start_sending(bench, lambda: bench.chunk(bench.graph.now_ns() - 1_500_000_000))


def _replayed(bench: Bench) -> None:
    """The same chunk again and again, older ones, in any order, between the true ones."""
    chunks.start_replaying(bench)


def _clocks(bench: Bench) -> None:
    """Chunks of a machine whose clock is an hour off between the true ones, and a `/clock` that jumps."""
    impostors.start_clock(bench)


def _link(state: str) -> Make:
    return lambda _: subprocess.run(["ip", "link", "set", "lo", state], check=True) and None


def _briefly(begin: Make, end: Make, shortest_s: float, longest_s: float) -> Make:
    """A fault that is over so soon that nobody need have noticed."""

    def make(bench: Bench) -> None:
        begin(bench)
        time.sleep(bench.random.uniform(shortest_s, longest_s))
        end(bench)

    return make


def _lossy(share: float) -> Make:
    """Packets between all nodes, and those of whoever asks the graph to stop, are lost."""
    return lambda bench: lose([*bench.pids.values(), os.getpid()], share)


def _starved(bench: Bench) -> None:
    """The control process gets no CPU for 60 to 300 ms."""
    bench.signal("control_node", signal.SIGSTOP)
    time.sleep(0.06 + 0.24 * bench.random.random())
    bench.signal("control_node", signal.SIGCONT)


def _jam(joint: str) -> Make:
    return lambda bench: impostors.set_simulator(bench, "jammed", joint)


def _error_too_large_ns(bench: Bench, began_ns: int) -> int:
    """Returns when the jammed joint was first further from its command than the profile allows."""
    joint = PROFILE.joint_names.index(JAMMED)
    tolerance = PROFILE.joints[joint].tracking_tolerance
    motion = bench.witness.motion()
    for stamp_ns, position, _ in bench.witness.measured.copy():
        commanded = np.interp(stamp_ns, motion.time_ns, motion.position[:, joint])
        if stamp_ns >= began_ns and tolerance is not None and abs(commanded - position[joint]) > tolerance:
            return stamp_ns
    return began_ns


POLICY, CAMERA, STATES, KILLED = (
    "policy killed, frozen, out of memory",
    "camera stopped, frozen, black, duplicate stamp",
    "joint states stale or frozen",
    "control_node or safety_monitor killed",
)

_ALL = (
    _killed(POLICY, "policy_node", graph="policy", quick=True),
    _frozen(POLICY, "policy_node", graph="policy", lasts_s=1.5, expect=Expect.REST),
    Fault(
        row="inference slower than the chunk",
        name="chunks 1.5 s late",
        make=_late,
        undo=chunks.stop_sending,
        expect=Expect.REST,
        lasts_s=1.5,
        quick=True,
    ),
    Fault(
        row="NaN, Inf, wrong size, dtype, joint order in a chunk",
        name="invalid chunks only",
        make=chunks.start_invalid,
        undo=chunks.stop_invalid,
        lasts_s=0.5,
        quick=True,
    ),
    Fault(
        row="out-of-range, jumping, bang-bang actions",
        name="wild chunks only",
        make=chunks.start_wild,
        undo=chunks.stop_sending,
        expect=Expect.SHAPED,
        lasts_s=2.0,
        quick=True,
    ),
    _frozen(CAMERA, "camera_node", name="cameras stopped", graph="policy", lasts_s=1.5, expect=Expect.REST),
    *(
        Fault(
            row=CAMERA,
            name=f"camera frames {kind}",
            make=impostors.start_camera(kind),
            undo=impostors.stop_camera,
            graph="policy",
            lasts_s=1.5,
            expect=Expect.REST,
        )
        for kind in ("frozen", "black", "of one stamp")
    ),
    _frozen(STATES, "sim_node", name="simulator frozen", lasts_s=0.4, quick=True, clock="realtime"),
    Fault(
        row=STATES,
        name="joint states stopped",
        make=lambda bench: impostors.set_simulator(bench, "muted", True),
        undo=lambda bench: impostors.set_simulator(bench, "muted", False),
        lasts_s=0.4,
        quick=True,
    ),
    Fault(
        row=STATES,
        name="joint states frozen",
        make=lambda bench: impostors.set_simulator(bench, "frozen", True),
        undo=lambda bench: impostors.set_simulator(bench, "frozen", False),
        lasts_s=0.4,
    ),
    Fault(
        row="tracking error beyond its bound",
        name="a joint jammed",
        make=_jam(JAMMED),
        undo=_jam(""),
        counts_from=_error_too_large_ns,
        lasts_s=1.5,
        quick=True,
    ),
    Fault(
        row="clock jump +-1 h, ROS time reset",
        name="chunks an hour off, /clock resets",
        make=_clocks,
        undo=impostors.stop_clock,
        expect=Expect.SHAPED,
        lasts_s=1.0,
        quick=True,
        clock="realtime",
    ),
    Fault(
        row="clock jump +-1 h, ROS time reset",
        name="a second /clock that jumps",
        make=impostors.start_clock,
        undo=impostors.stop_clock,
        lasts_s=0.5,
        clock="simulated",
    ),
    Fault(
        row="duplicate, reordered or older chunk",
        name="old chunks replayed",
        make=_replayed,
        undo=chunks.stop_sending,
        expect=Expect.SHAPED,
        lasts_s=1.0,
        quick=True,
    ),
    Fault(
        row="two command publishers",
        name="a second publisher of commands",
        make=impostors.start_rival,
        undo=impostors.stop_rival,
        lasts_s=0.5,
    ),
    Fault(
        row="discovery or network loss",
        name="network down for 0.5 s",
        make=_link("down"),
        undo=_link("up"),
        lasts_s=0.5,
        namespace=True,
        clock="realtime",
    ),
    Fault(
        row="discovery or network loss",
        name="network down for 40-100 ms",
        make=_briefly(_link("down"), _link("up"), 0.04, 0.1),
        expect=Expect.HOLD,
        namespace=True,
        clock="realtime",
    ),
    Fault(
        row="discovery or network loss",
        name="network down for 10-40 ms",
        make=_briefly(_link("down"), _link("up"), 0.01, 0.04),
        expect=Expect.SHAPED,
        lasts_s=2.0,
        namespace=True,
        clock="realtime",
    ),
    Fault(
        row="discovery or network loss",
        name="one packet in ten lost",
        make=_lossy(0.1),
        undo=_lossy(0.0),
        expect=Expect.SHAPED,
        lasts_s=3.0,
        quick=True,
        loses_packets=True,
        clock="realtime",
    ),
    Fault(
        row="discovery or network loss",
        name="all packets lost for 20-100 ms",
        make=_briefly(_lossy(1.0), _lossy(0.0), 0.02, 0.1),
        expect=Expect.SHAPED,
        lasts_s=1.0,
        quick=True,
        loses_packets=True,
        clock="realtime",
    ),
    Fault(
        row=RECORDING,
        name="disk full under event log and latch file",
        make=lambda bench: bench.disk.fill(),
        undo=lambda bench: bench.disk.free(),
        expect=Expect.SHAPED,
        lasts_s=1.0,
    ),
    _recorded("full", lambda disk: disk.fill(), lambda disk: disk.free()),
    _recorded("read-only", lambda disk: disk.turn_read_only(), lambda disk: disk.renew()),
    _recorded("hangs for 2 s", lambda disk: disk.hang(), lambda disk: disk.go_on(), told=False),
    Fault(
        row=RECORDING,
        name="recorder_node killed",
        make=_signals("recorder_node", signal.SIGKILL),
        expect=Expect.SHAPED,
        graph="recorded",
        lasts_s=2.0,
        restarts="recorder_node",
    ),
    _killed(KILLED, "control_node", quick=True),
    _killed(KILLED, "safety_monitor", quick=True),
    Fault(
        row="controller starved of CPU",
        name="control_node without CPU, 60-300 ms",
        make=_starved,
        expect=Expect.HOLD,
        apart_s=10.0,  # two standstills within 10 s latch, and should
        quick=True,
        clock="realtime",
    ),
)

FAULTS = {fault.name: fault for fault in _ALL}


@dataclass
class StopRequest:
    """A call of the stop service that is made while a fault is there.

    Attributes:
        called_ns: when it was made, ROS time.
        answered: whether the monitor answered.
    """

    called_ns: int = 0
    answered: bool = False


@contextmanager
def stopping(bench: Bench) -> Iterator[StopRequest]:
    """Calls the stop service in a thread, at a random moment up to 150 ms from now."""
    request = StopRequest()
    delay_s = 0.15 * bench.random.random()

    def stop() -> None:
        time.sleep(delay_s)
        request.called_ns = bench.graph.now_ns()
        with contextlib.suppress(StoppedError):
            bench.graph.operator.stop(1.0)
            request.answered = True

    thread = threading.Thread(target=stop, daemon=True)
    thread.start()
    try:
        yield request
    finally:
        thread.join(3.0)

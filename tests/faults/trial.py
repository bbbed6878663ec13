"""One trial: set in motion, break, watch, heal, and say what happened."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tendon.core.causes import Cause
from tendon.core.modes import Mode
from tendon.core.types import Array
from tendon.evaluation.limits import Worst, worst_of
from tendon.evaluation.motion import Motion
from tendon.ros2_nodes.clients.witness import Sign
from tests.faults import impostors
from tests.faults.bench import Bench
from tests.faults.faults import Expect, Fault, stopping
from tests.ros2_nodes.running_graph import PROFILE

LONGEST_S = 4.0
AGREED_MS = 30.0
QUIET_S = 0.3
GONE_S = 10.0
LATCHED_S = 20.0
REPORT_S = 1.1
"""A node says how it is once a second."""
GOOD_CAUSES = (Cause.TRACKING, Cause.LATE, Cause.STALE_JOINTS, Cause.HEARTBEAT, Cause.REQUESTED)
"""A robot that cannot follow, or a machine that is too slow, stops for a reason of its own. Wild chunks run the hand
into what stands on the table, which the filter does not know: the blow throws a joint off what it is commanded."""
STOPPED = (Mode.LATCHED, Mode.STANDBY)


@dataclass(frozen=True, kw_only=True)
class Trial:
    """What one fault did.

    Attributes:
        reaction_s: from the fault to the first sign that motion ends, or to the braking; `None` without one.
        sign: what the first sign was.
        rest_s: from the fault to rest; `None` when it did not come to rest or did not have to.
        tool_m: path of the tool after the fault until rest.
        joint: largest travel of a joint after the fault until rest, rad or m.
        worst: limits, over the whole motion.
        table_m: smallest distance of the arm to the table as measured, at most 0.05.
        commanded_table_m: the same, had the robot been where it was commanded to be.
        problem: what did not go as expected; empty when all did.
        late_ms: age of the oldest command when it reached the robot, in about the last 5 s. Later than `AGREED_MS` the
            robot has left the points that two commands share, and joins the next with a jump.
        details: more, for the record.
    """

    reaction_s: float | None = None
    sign: str = ""
    rest_s: float | None = None
    tool_m: float | None = None
    joint: float | None = None
    worst: Worst | None = None
    table_m: float | None = None
    commanded_table_m: float | None = None
    problem: str = ""
    late_ms: float = 0.0
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def broken(self) -> int:
        """How many limits were broken, a contact with the table among them."""
        return (self.worst.broken if self.worst else 0) + (self.table_m is not None and self.table_m <= 0.0)

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)


def try_fault(bench: Bench, fault: Fault, stop: bool = False) -> Trial:
    """Runs a fault once, at a random moment of a motion.

    Args:
        bench: starts the graph the fault needs.
        fault: what to break.
        stop: call the stop service while the fault is there; times count from that call then.
    """
    graph = bench.use(fault.graph, fault.clock)
    impostors.extras(bench)
    asked_ns = graph.now_ns()
    bench.set_in_motion()
    armed_ns = min((s.at_ns for s in bench.witness.signs.copy() if s.mode is Mode.ARMED), default=asked_ns)
    graph.pause(fault.apart_s + 0.3 + 0.9 * bench.random.random())
    bench.find()
    old = bench.pids[fault.restarts] if fault.restarts else None
    if fault.restarts:
        bench.died(fault.restarts)
    request = None
    began_ns = graph.now_ns()
    fault.make(bench)
    expect = Expect.STOP if stop else fault.expect
    try:
        if stop:
            with stopping(bench) as request:
                graph.pause(fault.lasts_s)
            began_ns = request.called_ns
        else:
            graph.pause(fault.lasts_s)
        undone_ns = graph.now_ns()
    finally:
        fault.undo(bench)
    if expect is Expect.GONE:
        return _alone(bench, began_ns, armed_ns)
    if expect in (Expect.STOP, Expect.HOLD):
        bench.stand(LONGEST_S)
        bench.hold_still()
    elif expect is Expect.REST and fault.graph == "swing":
        bench.stand(LONGEST_S)
    seen_ns = graph.now_ns() if expect in (Expect.STOP, Expect.HOLD) else undone_ns
    time.sleep(QUIET_S)
    problem = _problem(bench, expect, began_ns, undone_ns)
    if old is not None:
        bench.wait_for_restart(fault.restarts, old)
        time.sleep(QUIET_S)
    if expect is Expect.STOP:
        bench.hold_still()
        if not problem and not graph.operator.wait(lambda: graph.mode() in STOPPED, LATCHED_S):
            problem = f"it is {graph.mode()} and would go on"
        if not bench.at_rest():
            problem = problem or f"it moves after the stop: {_fastest(graph.states[-1])}"
    bench.stop()
    graph.wait(lambda: bench.witness.newest_ns() > graph.now_ns() - 300_000_000, "the simulator's record")
    whole = bench.witness.motion()
    moving = whole.between(armed_ns, whole.time_ns[-1])
    measured = [position for _, position, _ in bench.witness.measured[::3]]
    first = bench.witness.first_sign(began_ns)
    if not stop:
        began_ns = fault.counts_from(bench, began_ns)
    found = _measure(bench, whole, began_ns, first, expect, seen_ns)
    worst = worst_of(moving)
    return Trial(
        **found,
        worst=worst,
        table_m=bench.table.least_m(measured),
        commanded_table_m=bench.table.least_m(list(moving.position[::10])),
        problem=problem,
        late_ms=_late_ms(bench, worst),
        details={"fault": fault.name, "stop answered": request.answered} if request is not None else {},
    )


def _alone(bench: Bench, began_ns: int, armed_ns: int) -> Trial:
    """What can be seen of the end of a graph without its supervisor."""
    bench.hold_still()
    bench.graph.operator.wait(lambda: not any(map(_lives, bench.pids.values())), GONE_S)
    left = sum(map(_lives, bench.pids.values()))
    whole = bench.witness.motion()
    moving = whole.between(armed_ns, whole.time_ns[-1])
    found = _measure(bench, whole, began_ns, bench.witness.first_sign(began_ns), Expect.STOP, began_ns)
    bench.end()
    return Trial(
        **found,
        worst=worst_of(moving),
        table_m=bench.table.least_m([position for _, position, _ in bench.witness.measured[::3]]),
        commanded_table_m=bench.table.least_m(list(moving.position[::10])),
        problem=f"{left} nodes are still there" if left else "",
    )


def _late_ms(bench: Bench, worst: Worst) -> float:
    """Returns the largest latency of a command, as the simulator says it; where it matters, as it says it next."""
    if worst.broken:
        time.sleep(REPORT_S)
    status = bench.graph.operator.reports.status("sim_node")
    latency = None if status is None else status.meters["command"].latency
    return 0.0 if latency is None else latency.max_ms


def _fastest(state: tuple[float, Array, Array]) -> str:
    stamp_s, _, velocity = state
    joint = int(np.abs(velocity).argmax())
    return f"{PROFILE.joint_names[joint]} at {velocity[joint]:.3f}, at {stamp_s:.2f} s"


def _lives(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").exists()


def _measure(
    bench: Bench, motion: Motion, began_ns: int, first: Sign | None, expect: Expect, seen_ns: int
) -> dict[str, Any]:
    if expect is Expect.SHAPED:
        return {}
    if expect in (Expect.REST, Expect.HOLD):  # what comes after the fault is gone is another motion
        motion = motion.between(motion.time_ns[0], seen_ns)
    rest_ns, braking_ns = motion.rest_ns(began_ns), motion.braking_ns(began_ns)
    times = [(braking_ns, "braking")] if braking_ns is not None else []
    times += [(first.at_ns, f"{first.node}: {first.text}")] if first is not None else []
    reaction_ns, sign = min(times, default=(None, ""))
    part = motion.between(began_ns, motion.time_ns[-1] if rest_ns is None else rest_ns)
    tool = np.array([bench.kinematics.tool_pose(position)[0] for position in part.position[::3]]).reshape(-1, 3)
    travel = np.abs(np.diff(part.position, axis=0)).sum(axis=0).max(initial=0.0)
    return {
        "reaction_s": None if reaction_ns is None else (reaction_ns - began_ns) * 1e-9,
        "sign": sign,
        "rest_s": None if rest_ns is None else (rest_ns - began_ns) * 1e-9,
        "tool_m": float(np.linalg.norm(np.diff(tool, axis=0), axis=1).sum()),
        "joint": float(travel),
    }


def _problem(bench: Bench, expect: Expect, began_ns: int, undone_ns: int) -> str:
    graph = bench.graph
    signs = [sign for sign in bench.witness.signs.copy() if sign.at_ns >= began_ns]
    if expect in (Expect.SHAPED, Expect.HOLD):
        stop = next((sign for sign in signs if sign.node == "control_node" and sign.stops), None)
        return "" if stop is None or stop.cause in GOOD_CAUSES else f"it stopped: {stop.why}"
    if expect is Expect.REST:
        if bench.witness.motion().between(began_ns, undone_ns).rest_ns(began_ns) is None:
            return "it was not at rest when the fault went away"
        return ""
    if not bench.at_rest():
        return f"it did not come to rest: {_fastest(graph.states[-1])}"
    return ""

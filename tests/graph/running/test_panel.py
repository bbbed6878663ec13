"""The panel fits any terminal, and shows first what matters most."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.text import Text

from tendon.core.causes import Cause
from tendon.core.modes import Mode, PermissionState
from tendon.core.node_status import LatencyReport, Level, MeterReport, NodeStatus, PolicyStatus, StandInStatus
from tendon.core.permission import Permission
from tendon.graph.running.log import LogLine, parse
from tendon.graph.running.panel import draw, numbers_of
from tendon.graph.running.state import Adviser, RunState
from tendon.safety.reports import ControlState, MonitorState
from tests.laws import law_settings

NODES = ("sim_node", "camera_node", "safety_monitor", "control_node", "policy_node")
LATENCY = LatencyReport(p50_ms=1.0, p99_ms=2.0, max_ms=3.0)


def meter(rate_hz: float, drops: int = 0) -> MeterReport:
    return MeterReport(rate_hz=rate_hz, drops=drops, latency=LATENCY)


STATUSES = {
    "sim_node": StandInStatus(node="sim_node", level=Level.OK, text="real time", real_time_factor=0.97),
    "camera_node": NodeStatus(node="camera_node", level=Level.OK, text="drawing"),
    "safety_monitor": NodeStatus(node="safety_monitor", level=Level.WARN, text="armed, slow: novelty"),
    "control_node": NodeStatus(
        node="control_node",
        level=Level.OK,
        text="running; starved",
        meters={"joint_states": meter(100.0), "chunk": MeterReport(rate_hz=0.0, drops=0), "tick": meter(99.8)},
    ),
    "policy_node": PolicyStatus(
        node="policy_node",
        level=Level.OK,
        text="inferring",
        policy="tiny",
        instruction="put the red cube in the blue bowl",
        meters={"camera scene": meter(20.0, drops=3)},
    ),
}
ARMED = MonitorState(permission=Permission(state=PermissionState.ARMED, event=1, reason="novelty", speed=0.5))
WELL = RunState(
    nodes=NODES,
    statuses=STATUSES,
    monitor=ARMED,
    control=ControlState(mode=Mode.RUNNING, event=1, reason="starved"),
    age_s=dict.fromkeys(NODES, 0.2),
)
LOG = [parse(f"policy_node | [WARN] [1795322477.9] [policy_node]: line {k} 字 of the log") for k in range(90)]
ADVISER = Adviser(tendon="tendon", task="lift the red cube", policy=True)


def picture(width: int, height: int, state: RunState | None = None, log: list[LogLine] = LOG) -> list[Text]:
    seen = state or WELL
    numbers = numbers_of(["scene", "wrist"])
    return draw(seen, ADVISER.advise(seen), log, numbers, (width, height), "tendon run", "log: here")


@law_settings()
@given(st.integers(20, 250), st.integers(4, 80))
def test_it_fits_any_terminal(width: int, height: int) -> None:
    """No line wraps, which would push others out; the log fills what is left."""
    lines = picture(width, height)
    assert len(lines) <= height
    assert all(line.cell_len <= width for line in lines)
    assert height < 24 or len(lines) == height


@pytest.mark.parametrize(("width", "height"), [(80, 24), (140, 50)])
def test_it_shows_state_rates_latencies_and_the_newest_lines(width: int, height: int) -> None:
    text = "\n".join(line.plain for line in picture(width, height))
    for part in (
        "RUNNING",
        "“put the red cube in the blue bowl”; starved",
        "tendon safety stop",
        "mode running   permission armed at 50 % speed",
        "real time x 0.97",
        "armed, slow: novelty",
        "joint states",
        "100.0 Hz",
        "2.0 ms",
        "camera scene",
        "control tick",
        "line 89",
    ):
        assert part in text, text


def test_the_mock_s_time_and_cameras_are_shown_too() -> None:
    nodes = ("mock_node", "mock_camera_node", "safety_monitor", "control_node")
    stands_in = StandInStatus(node="mock_node", level=Level.OK, text="simulated time", real_time_factor=0.31)
    cameras = NodeStatus(node="mock_camera_node", level=Level.OK, text="", meters={"wrist": meter(30.0)})
    statuses = {**STATUSES, "mock_node": stands_in, "mock_camera_node": cameras}
    shown = {node: statuses[node] for node in nodes}
    seen = replace(WELL, nodes=nodes, statuses=shown, age_s=dict.fromkeys(nodes, 0.2))
    text = "\n".join(line.plain for line in picture(140, 50, seen))
    assert "real time x 0.31" in text and "30.0 Hz" in text


def test_what_is_idle_gives_way_to_what_is_measured_on_a_low_terminal() -> None:
    assert any("observation to command" in line.plain for line in picture(80, 24))
    low = [line.plain for line in picture(80, 19)]
    assert not any("observation to command" in line for line in low)
    assert any("control tick" in line for line in low)


def test_nodes_that_have_not_begun_or_went_silent_are_seen() -> None:
    """Before anything is known, and when a node hangs."""
    nothing = "\n".join(line.plain for line in picture(80, 24, RunState(nodes=NODES), []))
    assert nothing.count("starting") == len(NODES)
    hung = replace(WELL, age_s=dict.fromkeys(NODES, 0.2) | {"camera_node": 7.4})
    assert "silent for 7 s" in "\n".join(line.plain for line in picture(80, 24, hung))


def test_a_long_reason_is_wrapped_and_not_cut() -> None:
    reason = "camera scene and wrist " + "are 25.0 ms apart at best " * 4
    latched = Permission(state=PermissionState.LATCHED, event=1, reason=reason, cause=Cause.TRACKING)
    seen = replace(WELL, monitor=MonitorState(permission=latched))
    text = " ".join(" ".join(line.plain for line in picture(80, 24, seen)).split())
    assert reason.strip() in text


@pytest.mark.parametrize(("progress", "told"), [(None, False), (0.004, True), (0.424, True), (1.0, True)])
def test_the_task_says_how_much_of_it_the_policy_takes_for_done(progress: float | None, told: bool) -> None:
    policy = replace(STATUSES["policy_node"], progress=progress)
    lines = [line.plain for line in picture(160, 40, replace(WELL, statuses={**STATUSES, "policy_node": policy}))]
    (task,) = [line for line in lines if "task put the red cube in the blue bowl" in line]
    assert ("by its estimate" in task) is told
    assert not told or f"({100 * (progress or 0.0):.0f} % done" in task

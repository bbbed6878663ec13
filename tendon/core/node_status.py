"""How a node is, as it says of itself twice a second, and what each kind of node says besides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum

from tendon.core.phrases import without_numbers


class Level(IntEnum):
    """How well something is; the numbers are those of diagnostic_msgs/DiagnosticStatus."""

    OK = 0
    WARN = 1
    ERROR = 2
    STALE = 3


Health = tuple[Level, str]
"""How well something is, and the same in words."""


def is_news(before: Health | None, now: Health) -> bool:
    """Returns whether a problem came, changed or went since a node said how it is; other numbers are no change.

    What a healthy node says is no news: in motion the control node names other limits with every tick.
    """
    if before is None or before[0] is not now[0]:
        return True
    if now[0] is Level.OK or before[1] == now[1]:
        return False
    return without_numbers(before[1]) != without_numbers(now[1])


@dataclass(frozen=True, kw_only=True)
class LatencyReport:
    """Latencies of a stream over the last seconds: median, 99th percentile and largest [ms]."""

    p50_ms: float
    p99_ms: float
    max_ms: float


@dataclass(frozen=True, kw_only=True)
class MeterReport:
    """What a node has measured of one stream.

    Attributes:
        rate_hz: over the last seconds.
        drops: what was lost or refused since the start.
        latency: over the last seconds; `None` when none of it had one.
    """

    rate_hz: float
    drops: int
    latency: LatencyReport | None = None


@dataclass(frozen=True, kw_only=True)
class NodeStatus:
    """How a node is. Subclasses say more.

    Attributes:
        node: its name.
        level: how well it is.
        text: the same in words, for a person.
        robot: the profile it was started with, as it was named.
        meters: name of a stream to what was measured of it.
    """

    node: str
    level: Level
    text: str
    robot: str = ""
    meters: Mapping[str, MeterReport] = field(default_factory=dict)


NOT_KEPT = "cannot be kept"
"""Words by which a residual's state tells that its outcomes and its limit end with the node."""


@dataclass(frozen=True, kw_only=True)
class ControlStatus(NodeStatus):
    """Of the control node.

    Attributes:
        overruns: control periods that it has missed.
        tracking: largest |measured - commanded| of each joint since the robot was armed, rad or m.
        residual: what becomes of the residual, in words; empty without one.
        simulated_time: the graph lives by `/clock`.
    """

    overruns: int
    tracking: Mapping[str, float]
    residual: str = ""
    simulated_time: bool = False


@dataclass(frozen=True, kw_only=True)
class MonitorStatus(NodeStatus):
    """Of the safety monitor.

    Attributes:
        silent: nodes that had a heartbeat and have none now.
        found: what its watches found.
        cameras: those that a policy uses.
        log: path of the event log.
        log_lines_lost: that could not be written.
    """

    silent: tuple[str, ...]
    found: tuple[str, ...]
    cameras: tuple[str, ...]
    log: str
    log_lines_lost: int


@dataclass(frozen=True, kw_only=True)
class StandInStatus(NodeStatus):
    """Of what stands in for a robot; all empty in real time.

    Attributes:
        real_time_factor: how fast simulated time goes, as a part of real time.
        absent: who is not waited for any more, and why.
        commands_lost: that were sent to the robot and did not arrive.
    """

    real_time_factor: float | None = None
    absent: str = ""
    commands_lost: int = 0


@dataclass(frozen=True, kw_only=True)
class SimulationStatus(StandInStatus):
    """Of the simulated robot.

    Attributes:
        scene: on its table, as FAMILY/SEED.
        slips: how often physics was too late to catch up.
        done: whether the task in the scene is done.
    """

    scene: str
    slips: int
    done: bool


@dataclass(frozen=True, kw_only=True)
class MockStatus(StandInStatus):
    """Of the mock robot: how it differs from what it is told, and whether it is told to move."""

    lag_s: float
    noise: float
    effort: float
    moving: bool


@dataclass(frozen=True, kw_only=True)
class RecorderStatus(NodeStatus):
    """Of the recorder.

    Attributes:
        episode: file that is being recorded; empty while none is.
        seconds: since it began, wall time.
        messages: of it that were written.
        megabytes: of them.
        queued_megabytes: that wait for the disk.
        dropped: messages of it that found the queue full.
        lost: messages of it that were sent and never came.
        kept: episodes since the start.
    """

    episode: str
    seconds: float
    messages: int
    megabytes: float
    queued_megabytes: float
    dropped: int
    lost: int
    kept: int


@dataclass(frozen=True, kw_only=True)
class PolicyStatus(NodeStatus):
    """Of the policy node.

    Attributes:
        policy: the one that runs.
        standby: those that are loaded beside it.
        engine: that runs its graphs.
        instruction: the task it follows; empty without one.
        heard: the instruction heard last, whatever came of it.
        refusal: why that was refused; empty when it was not.
        selected: the policy asked for last.
        selection_refusal: why that was refused.
        steer: by which numbers it is steered now.
        delay_ms: it plans for, from observation to chunk.
        prefix_rows: of the running plan that it continues.
        observations_replaced: by newer ones before inference.
        inference_errors: since the start.
        inference_ms, network_ms, model_ms: of the last inference, of its way to a server, and of the model in it.
        target_m, reference_m: where the model sees what it goes for [m, base frame], three numbers or none.
        progress: how much of the task is done by its estimate, 0 to 1; `None` where it makes none.
        done: whether it counts the task as done by that, and rests.
        scores: of the failure detector.
    """

    policy: str
    standby: tuple[str, ...] = ()
    engine: str = ""
    instruction: str = ""
    heard: str = ""
    refusal: str = ""
    selected: str = ""
    selection_refusal: str = ""
    steer: Mapping[str, float] = field(default_factory=dict)
    delay_ms: float | None = None
    prefix_rows: int = 0
    observations_replaced: int = 0
    inference_errors: int = 0
    inference_ms: float | None = None
    network_ms: float | None = None
    model_ms: float | None = None
    target_m: tuple[float, ...] = ()
    reference_m: tuple[float, ...] = ()
    progress: float | None = None
    done: bool = False
    scores: Mapping[str, float] = field(default_factory=dict)

"""Latency, jitter and rates of a recorded run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tendon.core.node_status import ControlStatus, PolicyStatus, SimulationStatus
from tendon.core.types import Array
from tendon.demo.recording import Motion, Recording, Stream, Times
from tendon.evaluation.statistics import spread


def observation_to_chunk_ms(recording: Recording) -> Array:
    """Returns for each chunk how long after its observation's exposure it was published."""
    return np.asarray((recording.chunks.sent_ns - recording.chunks.stamp_ns) * 1e-6, dtype=np.float64)


CLOCK = (
    "simulated time: a chunk comes after the delay that was stated when the policy had warmed up; "
    "inference and model are this machine's own time"
)


def takeover_ns(recording: Recording) -> Times:
    """Returns for each chunk when the first command after it was sent; the run's end when there was none."""
    sent = recording.commanded.sent_ns
    places = np.searchsorted(sent, recording.chunks.sent_ns, side="right")
    return np.append(sent, recording.end_ns)[places]


def observation_to_command_ms(recording: Recording) -> Array:
    """Returns for each chunk how long after its observation's exposure the first command was sent that knew it."""
    taken = takeover_ns(recording)
    waits = (taken - recording.chunks.stamp_ns)[taken < recording.end_ns]
    return np.asarray(waits * 1e-6, dtype=np.float64)


def acceleration_share(recording: Recording) -> Array:
    """Returns (k - 1, n) commanded |acceleration| between due points, as a share of each joint's limit."""
    commanded = recording.commanded
    step_s = np.diff(commanded.due_ns) * 1e-9
    rate = np.diff(commanded.velocity, axis=0) / np.maximum(step_s, 1e-9)[:, None]
    return np.asarray(np.abs(rate) / recording.acceleration_limit)


def tracking_error(recording: Recording) -> Array:
    """Returns (k, n) commanded minus measured position at the time of each joint state; NaN outside commands."""
    commanded, measured = recording.commanded, recording.measured
    return np.asarray(_resample(commanded, measured.due_ns) - measured.position)


def _resample(motion: Motion, at_ns: Times) -> Array:
    if not len(motion.due_ns):
        return np.full((len(at_ns), motion.position.shape[1]), np.nan)
    columns = [np.interp(at_ns, motion.due_ns, column, left=np.nan, right=np.nan) for column in motion.position.T]
    return np.stack(columns, axis=1)


def measure(recording: Recording) -> dict[str, Any]:
    """Returns all numbers of a run as plain values. Latencies and errors in ms, rates in Hz."""
    ends = (recording.begin_ns, recording.end_ns)
    control, simulation = recording.said(ControlStatus)[-1:], recording.said(SimulationStatus)[-1:]
    policy = recording.said(PolicyStatus)
    chunks = control[0].meters.get("chunk") if control else None
    share = acceleration_share(recording)
    error = tracking_error(recording)[:, :-1]
    error = error[np.isfinite(error).all(axis=1)]
    return {
        "clock": CLOCK,
        "latency_ms": {
            "observation_to_chunk": spread(observation_to_chunk_ms(recording)),
            "observation_to_command": spread(observation_to_command_ms(recording)),
            "inference": spread(_times_ms(policy, "inference_ms")),
            "model": spread(_times_ms(policy, "model_ms")),
            "switch_to_first_chunk": spread(_reactions(recording)),
        },
        "control": {
            "rate_hz": _rate(recording.commanded, ends),
            "period_error_ms": spread(_period_errors_ms(recording.commanded)),
            "overruns": control[0].overruns if control else 0,
            "peak_acceleration_share": round(float(share.max()), 4) if share.size else None,
            "tracking_error_rad": spread(np.abs(error).max(axis=1)) if error.size else spread([]),
        },
        "chunks": {"rate_hz": _rate(recording.chunks, ends), "rejected": 0 if chunks is None else chunks.drops},
        "cameras": {
            name: {
                "rate_hz": _rate(stream, ends),
                "exposure_to_image_ms": spread((stream.sent_ns - stream.stamp_ns) * 1e-6),
            }
            for name, stream in recording.cameras.items()
        },
        "simulation": {
            "joint_state_rate_hz": _rate(recording.measured, ends),
            "slips": simulation[0].slips if simulation else 0,
        },
    }


def _rate(stream: Stream, ends: tuple[int, int]) -> float:
    inside = stream.sent_ns[(stream.sent_ns >= ends[0]) & (stream.sent_ns <= ends[1])]
    if len(inside) < 2:
        return 0.0
    return round(float((len(inside) - 1) / ((inside[-1] - inside[0]) * 1e-9)), 2)


def _period_errors_ms(commanded: Motion) -> Array:
    """How far the time between two commands is from what their stamps say."""
    return np.asarray(np.abs(np.diff(commanded.sent_ns) - np.diff(commanded.stamp_ns)) * 1e-6)


def _reactions(recording: Recording) -> list[float]:
    """From each instruction given in motion to the first chunk of a later observation."""
    waits = []
    for attempt in recording.attempts[1:]:
        later = recording.chunks.sent_ns[recording.chunks.stamp_ns >= attempt.begin_ns]
        if len(later):
            waits.append(float(later[0] - attempt.begin_ns) * 1e-6)
    return waits


def _times_ms(statuses: Sequence[PolicyStatus], name: str) -> list[float]:
    return [value for status in statuses if (value := getattr(status, name)) is not None]

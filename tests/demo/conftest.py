"""Made-up recordings of a demo, as exact as arithmetic can make them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from tendon.core.modes import Mode
from tendon.core.node_status import ControlStatus, Level, MeterReport, PolicyStatus
from tendon.core.types import Array
from tendon.demo.recording import Attempt, Motion, Outcome, Recording, Stream
from tendon.demo.story import FAMILY, Approach, Step, tell_story
from tendon.robots.profile import RobotProfile, load_profile
from tendon.sim.tabletop.scene import Scene, sample_scene
from tendon.sim.world_state import WorldState

MS = 1_000_000
SECOND = 1_000 * MS
BEGIN = 1_700_000_000 * SECOND
SEED = 105033
MakeRecording = Callable[..., Recording]


@pytest.fixture(scope="session")
def profile() -> RobotProfile:
    return load_profile("panda")


@pytest.fixture(scope="session")
def scene() -> Scene:
    return sample_scene(SEED, FAMILY)


@pytest.fixture(scope="session")
def story(scene: Scene) -> tuple[Step, ...]:
    return tell_story(scene)


def _attempts(story: tuple[Step, ...], duration_s: float, last: Outcome) -> tuple[Attempt, ...]:
    length = int(duration_s * SECOND) // len(story)
    ends = [(BEGIN + k * length, BEGIN + (k + 1) * length) for k in range(len(story))]
    outcomes = [Outcome.SWITCHED if step.interrupted else Outcome.DONE for step in story[:-1]] + [last]
    approach = Approach(begin_m=0.3, distance_m=0.2, speed_m_s=0.35, other_speed_m_s=-0.1)
    return tuple(
        Attempt(
            instruction=step.instruction,
            begin_ns=begin,
            end_ns=end,
            outcome=outcome,
            reason="not within 15 s" if outcome is Outcome.NOT_DONE else "",
            approach=approach if outcome is Outcome.SWITCHED else None,
        )
        for step, (begin, end), outcome in zip(story, ends, outcomes, strict=True)
    )


@pytest.fixture(scope="session")
def make_recording(profile: RobotProfile, scene: Scene, story: tuple[Step, ...]) -> MakeRecording:
    """Makes a run: joint 1 swings by 0.2 rad in 2 s; chunks are 30 ms and commands 34 ms after their exposure."""
    home = profile.vector("home")

    def motion(times: np.ndarray, sent_after_ns: int) -> Motion:
        seconds = (times - BEGIN)[:, None] * 1e-9
        first = np.eye(len(home))[0]
        position: Array = home + 0.2 * np.sin(np.pi * seconds) * first
        velocity: Array = 0.2 * np.pi * np.cos(np.pi * seconds) * first
        return Motion(stamp_ns=times, sent_ns=times + sent_after_ns, due_ns=times, position=position, velocity=velocity)

    def make(duration_s: float = 2.0, last: Outcome = Outcome.DONE) -> Recording:
        end = BEGIN + int(duration_s * SECOND)
        ticks, frames = np.arange(BEGIN, end, 10 * MS), np.arange(BEGIN, end, 50 * MS)
        joints = (*home.tolist(), home[-1])
        poses = tuple((*item.position, 0.0, 0.0, 0.0, 1.0) for item in scene.items)
        camera = Stream(stamp_ns=frames, sent_ns=frames + 8 * MS)
        return Recording(
            begin_ns=BEGIN,
            end_ns=end,
            joint_names=profile.joint_names,
            acceleration_limit=profile.vector("acceleration"),
            measured=motion(ticks, MS),
            commanded=motion(ticks, 4 * MS),
            chunks=Stream(stamp_ns=frames, sent_ns=frames + 30 * MS),
            cameras={"scene": camera, "wrist": camera},
            worlds=tuple(WorldState(time_ns=int(at), joint_position=joints, poses=poses, openings=()) for at in frames),
            modes=((BEGIN - SECOND, Mode.STANDBY), (BEGIN, Mode.ARMED), (BEGIN + 200 * MS, Mode.RUNNING)),
            statuses=(
                _policy(inference_ms=5.0, model_ms=4.0),
                _control(overruns=1),
                _policy(inference_ms=7.0),
                _control(overruns=2, meters={"chunk": MeterReport(rate_hz=20.0, drops=3)}),
            ),
            attempts=_attempts(story, duration_s, last),
        )

    return make


@pytest.fixture(scope="session")
def empty_recording(make_recording: MakeRecording, profile: RobotProfile) -> Recording:
    """A run in which nothing was published and nothing asked."""
    none = np.zeros(0, dtype=np.int64)
    nothing = np.zeros((0, len(profile.joint_names)))
    motion = Motion(stamp_ns=none, sent_ns=none, due_ns=none, position=nothing, velocity=nothing)
    stream = Stream(stamp_ns=none, sent_ns=none)
    return replace(
        make_recording(),
        measured=motion,
        commanded=motion,
        chunks=stream,
        cameras={"scene": stream},
        worlds=(),
        modes=(),
        statuses=(),
        attempts=(),
    )


def _policy(**values: object) -> PolicyStatus:
    return PolicyStatus(node="policy_node", level=Level.OK, text="", policy="tiny", **values)


def _control(**values: object) -> ControlStatus:
    return ControlStatus(**{"node": "control_node", "level": Level.OK, "text": "", "tracking": {}, **values})

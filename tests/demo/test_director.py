"""The director's judgement, with a made-up graph."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tendon.core.causes import Cause
from tendon.core.clock import SteadyClock
from tendon.core.errors import StoppedError
from tendon.core.modes import Mode, PermissionState
from tendon.core.node_status import Level, NodeStatus
from tendon.demo.recording import Outcome
from tendon.demo.story import Step
from tendon.graph import topics
from tendon.robots.kinematics import Kinematics
from tendon.robots.profile import RobotProfile
from tendon.ros2_nodes import wire
from tendon.ros2_nodes.demo import director
from tendon.ros2_nodes.demo.director import HOLD_CHECKS, NODES, DemoDirector
from tendon.ros2_nodes.wire.world_state import world_state_message
from tendon.safety.reports import ControlState, TaskState
from tendon.sim.tabletop.scene import Scene
from tendon.sim.world_state import WorldState

TOOL_DOWN = np.diag([1.0, -1.0, -1.0])


class MadeUpGraph:
    """Operator and recorder in one: each look at a topic advances the world a little."""

    def __init__(self, scene: Scene, profile: RobotProfile) -> None:
        self.profile, self.scene = profile, scene
        self.statuses = {name: NodeStatus(node=name, level=Level.OK, text="") for name in NODES}
        self.control = ControlState(mode=Mode.RUNNING, event=1)
        self.reports = self
        self.instructions: list[str] = []
        self.done = lambda: False
        self.task_instruction: str | None = None
        self.tool, self.velocity = np.array([0.45, 0.0, 0.25]), np.zeros(3)
        self._kinematics = Kinematics(profile)
        self._tasks = 0
        self.time = SteadyClock()

    def say(self, instruction: str) -> None:
        self.instructions.append(instruction)

    def status(self, node: str) -> NodeStatus:
        return self.statuses[node]

    def mode(self) -> Mode:
        return self.control.mode

    def permission(self) -> PermissionState:
        return PermissionState.ARMED

    def arm(self, timeout_s: float) -> str:
        return "armed"

    def count(self, topic: str) -> int:
        self._tasks += 1
        return self._tasks

    def newest_task(self) -> TaskState:
        words = self.task_instruction or self.instructions[-1]
        return TaskState(scene="put_in/1", instruction=words, relation="in", done=self.done())

    def newest(self, what: str | type[ControlState]) -> Any:
        """Plays both `Reports.newest` and `Recorder.newest`."""
        if what is ControlState:
            return self.control
        if what == topics.JOINT_STATES:
            self.tool = self.tool + 0.02 * self.velocity
            joints = self._kinematics.inverse(self.tool, TOOL_DOWN, self.profile.vector("home"))
            ahead = self._kinematics.inverse(self.tool + 0.001 * self.velocity, TOOL_DOWN, joints)
            return wire.joint_state_message(1, self.profile.joint_names, joints, 1000 * (ahead - joints))
        poses = tuple((*item.position, 0.0, 0.0, 0.0, 1.0) for item in self.scene.items)
        state = WorldState(time_ns=1, joint_position=(0.0,) * 9, poses=poses)
        return world_state_message(1, "put_in/1", state)

    def close(self) -> None:
        pass


@pytest.fixture
def graph(scene: Scene, profile: RobotProfile, monkeypatch: pytest.MonkeyPatch) -> Iterator[MadeUpGraph]:
    made_up = MadeUpGraph(scene, profile)
    monkeypatch.setattr(director, "Recorder", lambda _: made_up)
    monkeypatch.setattr(director, "SETTLE_S", 0.01)
    monkeypatch.setattr(director, "AFTERWARDS_S", 0.01)
    yield made_up


def _director(graph: MadeUpGraph, story: tuple[Step, ...], limit_s: float = 0.4) -> DemoDirector:
    return DemoDirector(graph, graph.profile, story, limit_s)  # type: ignore[arg-type]


def test_a_task_is_done_when_it_is_seen_done_several_times_in_a_row(graph: MadeUpGraph, story: tuple) -> None:
    answers = iter([True, True, False] + [True] * HOLD_CHECKS)
    graph.done = lambda: next(answers)
    director = _director(graph, story[:1])
    director.perform()
    (attempt,) = director.status().attempts
    assert attempt.outcome is Outcome.DONE
    assert next(answers, None) is None, "it looked on after the third in a row, or stopped at an interrupted row"


def test_another_instruction_that_is_done_does_not_count(graph: MadeUpGraph, story: tuple) -> None:
    graph.done, graph.task_instruction = (lambda: True), "pick up something else"
    director = _director(graph, story[:1])
    director.perform()
    (attempt,) = director.status().attempts
    assert (attempt.outcome, attempt.reason) == (Outcome.NOT_DONE, "not within 0.4 s")


def test_the_policys_error_is_part_of_the_reason(graph: MadeUpGraph, story: tuple) -> None:
    director = _director(graph, story[:1])
    wrong = NodeStatus(node="policy_node", level=Level.ERROR, text="unknown word cube")
    threading.Timer(0.2, graph.statuses.update, [{"policy_node": wrong}]).start()
    director.perform()
    assert "policy_node: unknown word cube" in director.status().attempts[0].reason


def test_the_switch_comes_when_the_arm_is_on_its_way_and_not_before(
    graph: MadeUpGraph, story: tuple, scene: Scene
) -> None:
    graph.done = lambda: True
    away = np.array(scene.items[story[1].task.target].position) - graph.tool
    away[2] = 0.0
    graph.velocity = 0.3 * away / np.linalg.norm(away)
    director = _director(graph, story, limit_s=5.0)
    director.perform()
    first, switched, last = director.status().attempts
    assert (first.outcome, switched.outcome, last.outcome) == (Outcome.DONE, Outcome.SWITCHED, Outcome.DONE)
    assert graph.instructions == [step.instruction for step in story]
    seen = switched.approach
    assert seen is not None
    assert seen.on_the_way
    assert seen.begin_m == pytest.approx(np.linalg.norm(away), abs=0.02)
    assert seen.speed_m_s == pytest.approx(0.3, abs=0.02)


def test_an_arm_that_does_not_go_there_is_a_failure_that_says_so(graph: MadeUpGraph, story: tuple) -> None:
    graph.done = lambda: True
    director = _director(graph, story)
    director.perform()
    switched = director.status().attempts[1]
    assert switched.outcome is Outcome.NOT_DONE
    assert "not seen on its way" in switched.reason
    assert director.status().attempts[2].outcome is Outcome.DONE, "the rest of the story goes on"


def test_after_a_stop_nothing_more_is_asked(graph: MadeUpGraph, story: tuple) -> None:
    graph.control = ControlState(mode=Mode.LATCHED, event=1, reason="a fault", cause=Cause.TRACKING)
    director = _director(graph, story)
    director.perform()
    assert graph.instructions == []
    assert [attempt.outcome for attempt in director.status().attempts] == [Outcome.NOT_DONE] * 3


def test_a_graph_that_does_not_get_ready_is_one_clear_error(
    graph: MadeUpGraph, story: tuple, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(director, "READY_S", 0.1)
    blind = NodeStatus(node="policy_node", level=Level.ERROR, text="camera wrist: nothing has arrived yet")
    graph.statuses["policy_node"] = blind
    with pytest.raises(StoppedError, match="policy_node: camera wrist: nothing has arrived yet"):
        _director(graph, story).perform()
    assert graph.instructions == []


def test_cancelling_ends_it_soon(graph: MadeUpGraph, story: tuple) -> None:
    director = _director(graph, story, limit_s=60.0)
    threading.Timer(0.2, director.cancel).start()
    with pytest.raises(StoppedError, match="interrupted"):
        director.perform()

"""What is known of a running graph, and what follows from it for the person at the terminal."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path

from tendon.core.modes import Mode, PermissionState, Source
from tendon.core.node_status import Level, MeterReport, NodeStatus, PolicyStatus
from tendon.graph import topics
from tendon.graph.leading import UNLED, UNLED_WITHOUT_POLICY
from tendon.graph.namespace import NAMESPACE_VARIABLE
from tendon.safety.reports import ControlState, MonitorState

STAND_INS = {"sim_node": "camera_node", "mock_node": "mock_camera_node"}
"""Nodes that stand in for a robot, and those for its cameras."""
POLICY_NODE = "policy_node"
RECORDER_NODE = "recorder_node"
ALWAYS = ("safety_monitor", "control_node")
"""Nodes of every graph."""
SILENT_S = 3.0
"""A node that reports twice a second and has not for so long is not well."""


@dataclass(frozen=True, kw_only=True)
class RunState:
    """A graph at one moment.

    Attributes:
        nodes: that the graph should have, in the order of their start.
        statuses: node to how it is.
        monitor: what the safety monitor permits; `None` before it was heard.
        control: what the controller does; `None` before it was heard.
        age_s: node to how long ago that was; absent for one that never said anything.
        ending: the graph is being ended.
    """

    nodes: tuple[str, ...]
    statuses: Mapping[str, NodeStatus] = field(default_factory=dict)
    monitor: MonitorState | None = None
    control: ControlState | None = None
    age_s: Mapping[str, float] = field(default_factory=dict)
    ending: bool = False

    @property
    def permission(self) -> PermissionState | None:
        """The state of the permission in force; `None` before it was heard."""
        return None if self.monitor is None else self.monitor.permission.state

    @property
    def policy(self) -> PolicyStatus | None:
        """How the policy node is; `None` without one, or before it was heard."""
        status = self.statuses.get(POLICY_NODE)
        return status if isinstance(status, PolicyStatus) else None

    def error(self, node: str) -> str:
        """Returns what is wrong with a node, after its name; empty when nothing is."""
        status = self.statuses.get(node)
        return f"{node}: {status.text}" if status is not None and status.level is Level.ERROR else ""

    def meter(self, node: str, name: str) -> MeterReport | None:
        """Returns what a node has measured of a stream; `None` if nothing."""
        status = self.statuses.get(node)
        return None if status is None else status.meters.get(name)

    def silent(self) -> list[str]:
        """Returns the nodes that say nothing any more, or have not yet."""
        return [node for node in self.nodes if self.age_s.get(node, SILENT_S) >= SILENT_S]


class Word(Enum):
    """The state of a graph in a word."""

    STARTING = "STARTING"
    NOT_READY = "NOT READY"
    READY = "READY"
    ARMED = "ARMED"
    RUNNING = "RUNNING"
    STOPPED = "STOPPED"
    ENDING = "ENDING"


@dataclass(frozen=True, kw_only=True)
class Advice:
    """What to tell the person.

    Attributes:
        word: the state.
        reason: why it is so, or what it means; one sentence.
        commands: what can be typed next, each with what it does.
        where: where to type them.
    """

    word: Word
    reason: str
    commands: tuple[tuple[str, str], ...] = ()
    where: str = ""


@dataclass(frozen=True, kw_only=True)
class Adviser:
    """Says what to do next.

    Attributes:
        tendon: how the command is called here.
        task: an instruction that fits scene and policy; empty when none is known.
        policy: whether the graph has a policy node; without one somebody else sends chunks.
        where: commands are typed.
    """

    tendon: str
    task: str
    policy: bool
    where: str = "another terminal"

    def advise(self, state: RunState) -> Advice:
        """Returns what to tell about a state."""
        advice = self._advise(state)
        return replace(advice, where=self.where) if advice.commands else advice

    def _advise(self, state: RunState) -> Advice:
        if state.ending:
            return Advice(word=Word.ENDING, reason="the robot is stopped first, then the processes are ended")
        if state.monitor is not None and state.permission is PermissionState.LATCHED:
            why = state.monitor.permission.reason or "no reason was given"
            reset = self._does("safety reset", "when the cause is gone; moves nothing")
            return Advice(word=Word.STOPPED, reason=why, commands=(reset, self._does("safety arm", "after that")))
        if silent := state.silent():
            begun = all(node in state.age_s for node in silent)
            what = f"nothing is heard of {', '.join(silent)}" if begun else f"waiting for {', '.join(silent)}"
            return Advice(word=Word.NOT_READY if begun else Word.STARTING, reason=what)
        if state.permission is PermissionState.ARMED:
            return self._armed(state)
        if obstacle := self._obstacle(state):
            return Advice(word=Word.NOT_READY, reason=obstacle)
        arm = self._does("safety arm", "permits motion")
        return Advice(word=Word.READY, reason="the robot stands still until it is armed", commands=(arm,))

    def _obstacle(self, state: RunState) -> str:
        for node in state.nodes:
            if error := state.error(node):
                return error
        if state.monitor is not None and state.monitor.permission.reason:
            return f"safety_monitor: {state.monitor.permission.reason}"
        return "" if state.control is None else state.control.obstacle

    def _armed(self, state: RunState) -> Advice:
        stop = self._does("safety stop", "stops the robot and latches")
        task = "" if state.policy is None else state.policy.instruction
        done = state.policy is not None and state.policy.done
        effect = "the next task, or the same again" if done else "another task" if task else "gives it a task"
        how = "" if self.task else ", in words that the policy knows"
        say = self._does(f'say "{self.task or "INSTRUCTION"}"', effect + how)
        if self.policy and (error := state.error(POLICY_NODE)):
            return Advice(word=Word.ARMED, reason=error, commands=(say, stop))
        if not self.policy:
            chunks = map(topics.action_chunk, (Source.POLICY, Source.TELEOP))
            say = ("", f"chunks are taken from {' and '.join(chunks)}")
        unled = "" if state.control is None else self._unled(state.control)
        if done and not unled:
            rests = f"“{task}” is done, as the policy sees it: the robot rests until it is told the next task"
            return Advice(word=Word.ARMED, reason=rests, commands=(say, stop))
        if state.control is not None and state.control.mode is Mode.RUNNING:
            told = f"“{task}”" if task else ""
            reason = unled or "; ".join(filter(None, (told, state.control.reason)))
            return Advice(word=Word.RUNNING, reason=reason, commands=(say, stop))
        waits = "the robot may move, and waits for a task" if self.policy and not task else "the robot may move"
        return Advice(word=Word.ARMED, reason=unled or waits, commands=(say, stop))

    def _unled(self, control: ControlState) -> str:
        """Returns who leads in place of the policy, and what changes that; empty while the policy leads."""
        if not self.policy:
            return UNLED_WITHOUT_POLICY if control.source is Source.HOLD else ""
        unled = UNLED.get(control.source, "")
        hand = control.reason if control.source is Source.TELEOP else ""
        return "; ".join(filter(None, (unled, hand)))

    def _does(self, words: str, effect: str) -> tuple[str, str]:
        return f"{self.tendon} {words}", effect


def command_here(arguments: Sequence[str] = sys.argv) -> str:
    """Returns how `tendon` is to be typed in another terminal in this folder."""
    program = Path(arguments[0])
    if shutil.which("tendon") is not None:
        return "tendon"
    return os.path.relpath(program) if program.name == "tendon" else f"{os.path.relpath(sys.executable)} -m tendon.cli"


def another_terminal(environment: Mapping[str, str] = os.environ) -> str:
    """Returns where to type it: ROS domain and namespace are chosen for each terminal."""
    given = {name: environment.get(name, "") for name in ("ROS_DOMAIN_ID", NAMESPACE_VARIABLE)}
    settings = " ".join(f"{name}={value}" for name, value in given.items() if value not in ("", "0"))
    return f"another terminal, with {settings}" if settings else "another terminal"

"""What a person at the terminal is told: the state in a word, why it is so, and what can be typed next."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tendon.core.causes import Cause
from tendon.core.modes import Mode, PermissionState, Source
from tendon.core.node_status import Level, NodeStatus, PolicyStatus
from tendon.core.permission import Permission
from tendon.graph.running.state import Adviser, RunState, Word, another_terminal, command_here
from tendon.safety.reports import ControlState, MonitorState

NODES = ("sim_node", "safety_monitor", "control_node", "policy_node")
WELL = RunState(
    nodes=NODES,
    statuses={
        "sim_node": NodeStatus(node="sim_node", level=Level.OK, text="real time"),
        "safety_monitor": NodeStatus(node="safety_monitor", level=Level.WARN, text="standby"),
        "control_node": NodeStatus(node="control_node", level=Level.OK, text="standby"),
        "policy_node": PolicyStatus(
            node="policy_node", level=Level.WARN, text="waiting for an instruction", policy="tiny"
        ),
    },
    monitor=MonitorState(permission=Permission(state=PermissionState.STANDBY, event=0, reason="")),
    control=ControlState(mode=Mode.STANDBY, event=0),
    age_s=dict.fromkeys(NODES, 0.1),
)
ADVISER = Adviser(tendon="tendon", task="lift the red cube", policy=True)


def permitted(state: PermissionState, reason: str = "") -> MonitorState:
    return MonitorState(permission=Permission(state=state, event=1, reason=reason, cause=Cause.REQUESTED))


def changed(node: str, **values: object) -> dict[str, NodeStatus]:
    return {**WELL.statuses, node: replace(WELL.statuses[node], **values)}


ARMED = permitted(PermissionState.ARMED)
RUNNING = ControlState(mode=Mode.RUNNING, event=1, reason="starved")
TOLD = changed("policy_node", instruction="lift the red cube", text="inferring", level=Level.OK)
BLIND = changed("policy_node", level=Level.ERROR, text="camera wrist: nothing has arrived yet")
WITHOUT_POLICY = {node: 0.1 for node in NODES if node != "policy_node"}


@pytest.mark.parametrize(
    ("seen", "word", "reason", "commands"),
    [
        (RunState(nodes=NODES), Word.STARTING, "waiting for sim_node, safety_monitor", ()),
        (replace(WELL, age_s=WITHOUT_POLICY), Word.STARTING, "waiting for policy_node", ()),
        (replace(WELL, age_s=WELL.age_s | {"sim_node": 5.0}), Word.NOT_READY, "nothing is heard of sim_node", ()),
        (WELL, Word.READY, "stands still until it is armed", ("safety arm",)),
        (
            replace(WELL, statuses=changed("safety_monitor", text="the latch cannot be written")),
            Word.READY,
            "stands still",
            ("safety arm",),
        ),
        (replace(WELL, statuses=BLIND), Word.NOT_READY, "policy_node: camera wrist: nothing has arrived yet", ()),
        (
            replace(WELL, monitor=permitted(PermissionState.STANDBY, "camera scene has sent nothing")),
            Word.NOT_READY,
            "safety_monitor: camera scene has sent nothing",
            (),
        ),
        (
            replace(WELL, control=ControlState(mode=Mode.STANDBY, event=0, obstacle="no joint state yet")),
            Word.NOT_READY,
            "no joint state yet",
            (),
        ),
        (replace(WELL, monitor=ARMED), Word.ARMED, "waits for a task", ('say "lift the red cube"', "safety stop")),
        (
            replace(
                WELL,
                monitor=ARMED,
                control=RUNNING,
                statuses=changed("policy_node", instruction="lift the red cube", level=Level.OK, done=True),
            ),
            Word.ARMED,
            "“lift the red cube” is done, as the policy sees it: the robot rests",
            ('say "lift the red cube"', "safety stop"),
        ),
        (
            replace(WELL, monitor=ARMED, statuses=BLIND),
            Word.ARMED,
            "policy_node: camera wrist",
            ('say "lift the red cube"', "safety stop"),
        ),
        (
            replace(WELL, monitor=ARMED, control=RUNNING, statuses=TOLD),
            Word.RUNNING,
            "“lift the red cube”; starved",
            ('say "lift the red cube"', "safety stop"),
        ),
        (
            replace(WELL, monitor=ARMED, control=replace(RUNNING, source=Source.HOLD), statuses=TOLD),
            Word.RUNNING,
            "nobody leads: say a task",
            ('say "lift the red cube"', "safety stop"),
        ),
        (
            replace(WELL, monitor=ARMED, control=replace(RUNNING, source=Source.TELEOP, reason="released: press")),
            Word.RUNNING,
            "teleop leads: end it, then say a task, or publish policy on control/source; released: press",
            ('say "lift the red cube"', "safety stop"),
        ),
        (
            replace(WELL, monitor=permitted(PermissionState.LATCHED, "tracking error")),
            Word.STOPPED,
            "tracking error",
            ("safety reset", "safety arm"),
        ),
        (
            replace(
                WELL,
                age_s=WELL.age_s | {"control_node": 5.0},
                monitor=permitted(PermissionState.LATCHED, "no heartbeat"),
            ),
            Word.STOPPED,
            "no heartbeat",
            ("safety reset", "safety arm"),
        ),
        (replace(WELL, ending=True), Word.ENDING, "the robot is stopped first", ()),
    ],
)
def test_the_state_has_a_word_a_reason_and_what_follows(
    seen: RunState, word: Word, reason: str, commands: tuple[str, ...]
) -> None:
    advice = ADVISER.advise(seen)
    assert advice.word is word
    assert reason in advice.reason
    assert [command for command, _ in advice.commands] == [f"tendon {text}" for text in commands]
    assert bool(advice.where) is bool(commands)


@pytest.mark.parametrize(
    ("seen", "effect"),
    [
        (replace(WELL, monitor=ARMED), "gives it a task, in words that the policy knows"),
        (
            replace(WELL, monitor=ARMED, statuses=TOLD),
            "another task, in words that the policy knows",
        ),
    ],
)
def test_without_a_known_instruction_it_says_how_to_give_one(seen: RunState, effect: str) -> None:
    advice = Adviser(tendon="tendon", task="", policy=True).advise(seen)
    assert advice.commands[0] == ('tendon say "INSTRUCTION"', effect)


def test_without_a_policy_it_says_where_chunks_come_from() -> None:
    adviser = Adviser(tendon="tendon", task="", policy=False)
    nodes = ("safety_monitor", "control_node")
    seen = replace(WELL, nodes=nodes, monitor=ARMED)
    assert "policy/action_chunk" in adviser.advise(seen).commands[0][1]
    left = replace(seen, control=replace(RUNNING, source=Source.HOLD))
    assert adviser.advise(left).reason.startswith("nobody leads: press in `tendon teleop`")


def test_the_command_is_one_that_works_in_this_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """On PATH it is `tendon`; else the program that was started, relative to here."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert command_here([str(tmp_path / "venv" / "bin" / "tendon")]) == "venv/bin/tendon"
    assert command_here(["/somewhere/tendon/cli/__main__.py"]).endswith(" -m tendon.cli")
    (tmp_path / "tendon").write_text("#!/bin/sh\n")
    (tmp_path / "tendon").chmod(0o755)
    assert command_here(["venv/bin/tendon"]) == "tendon"


@pytest.mark.parametrize(
    ("domain", "where"),
    [
        ({}, ""),
        ({"ROS_DOMAIN_ID": ""}, ""),
        ({"ROS_DOMAIN_ID": "7"}, "=7"),
        ({"ROS_NAMESPACE": "left"}, "ROS_NAMESPACE=left"),
    ],
)
def test_another_terminal_needs_domain_and_namespace_of_this_one(domain: dict[str, str], where: str) -> None:
    assert another_terminal(domain).endswith(where or "terminal")

"""`tendon safety arm` says what the robot is about to do."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from tendon.commands.safety.arm import arm
from tendon.core.node_status import Level, PolicyStatus


@pytest.mark.parametrize(
    ("instruction", "done", "said"),
    [
        ("lift the cube", False, 'armed; the policy goes on with "lift the cube" (`tendon say ""` ends that)'),
        ("lift the cube", True, "armed"),
        ("", False, "armed"),
    ],
)
def test_it_says_what_the_policy_goes_on_with(instruction: str, done: bool, said: str) -> None:
    """After a reset the robot took up its old task, and nobody had been told."""
    told: dict[str, Any] = {"node": "policy_node", "level": Level.OK, "text": "", "robot": "panda", "policy": "p"}
    status = PolicyStatus(**told, instruction=instruction, done=done)
    operator = SimpleNamespace(
        arm=lambda: "armed",
        nodes=lambda: {"policy_node"},
        wait=lambda condition, timeout_s: condition(),
        reports=SimpleNamespace(newest=lambda kind: status if kind is PolicyStatus else None),
    )
    assert arm(cast(Any, operator)) == said


def test_without_a_policy_it_waits_for_none() -> None:
    operator = SimpleNamespace(
        arm=lambda: "armed", nodes=lambda: {"control_node"}, reports=SimpleNamespace(newest=lambda kind: None)
    )
    assert arm(cast(Any, operator)) == "armed"

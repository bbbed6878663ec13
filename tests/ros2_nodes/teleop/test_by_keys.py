"""A person picks something up by keys: pty, `tendon teleop keyboard`, graph, filter, simulated table."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.ros2_nodes.running_graph import RunningGraph
from tests.ros2_nodes.teleop.key_policy import KeyPolicy, Tabletop
from tests.ros2_nodes.teleop.person import Typist

pytestmark = [pytest.mark.graph, pytest.mark.laws]
SEED, FAMILY = 310_000, "pick"


def test_a_person_picks_something_up_by_keys(tmp_path: Path) -> None:
    """`benchmarks/teleop_episodes.py` does ten of them."""
    graph = RunningGraph(tmp_path / "log", "backend:=sim", "policy:=none", f"scene:={SEED}", f"family:={FAMILY}")
    try:
        graph.ready()
        table = Tabletop(graph, graph.profile)
        with Typist([sys.executable, "-m", "tendon.cli", "teleop", "keyboard"], clock_ns=graph.now_ns) as typist:
            typist.await_panel()
            person = KeyPolicy(table, typist)
            person.full_speed()
            assert person.do(table.load(SEED, FAMILY)), graph.reason()
            assert typist.end() == 0
        graph.check_limits()
    finally:
        graph.end()

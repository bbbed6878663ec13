"""A running graph for the tests that only look at one; others have a `graph` of their own, which hides this.

What the tests of one file left latched is nothing to the next file.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tendon.safety.latch import state_folder
from tests.ros2_nodes.running_graph import RunningGraph
from tests.ros2_nodes.tiny_bundle import write_tiny_bundle


@pytest.fixture(scope="module", autouse=True)
def _no_latch() -> None:
    for file in state_folder().glob("latch-*.json"):
        file.unlink()


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningGraph]:
    """A simulated Panda with the tiny policy, disarmed; every node has said something."""
    folder = tmp_path_factory.mktemp("graph")
    running = RunningGraph(folder / "log", f"policy:={write_tiny_bundle(folder / 'tiny')}")
    running.ready()
    running.wait(lambda: running.operator.reports.status("policy_node") is not None, "the policy node")
    yield running
    running.end()

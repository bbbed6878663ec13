"""No message ends a node, holds it up or locks the robot out; and no subscription is left out of that."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import ROOT
from tests.poison.cases import CASES, running
from tests.poison.fuzzing import Found, fuzz, modules, sites, watched_sites
from tests.ros2_nodes.hardware.generated_messages import can_be_made

MESSAGES, REQUESTS = 60, 10
"""To each subscription, and to each service; `benchmarks/fuzz.py` sends 100 000."""

used: set[tuple[str, int]] = set()
"""Where the nodes below were given what they subscribe and serve."""
tried: set[str] = set()


@pytest.mark.parametrize("name", CASES)
def test_any_message_is_taken_or_refused_and_the_node_goes_on(name: str, tmp_path: Path) -> None:
    """Nothing is raised, and it works afterwards; whoever adds a topic says what a good message of it is."""
    tried.add(name)
    if CASES[name].robot == "controllers" and not can_be_made():
        pytest.skip("making the messages of a controller manager needs gcc and g++")
    with watched_sites(used), running(name, tmp_path) as subject:
        endpoints = subject.endpoints()
        assert not [endpoint.topic for endpoint in endpoints if not endpoint.makers], "add to tests/poison/messages.py"
        found: dict[str, Found] = {}
        for k, endpoint in enumerate(endpoints):
            count = REQUESTS if endpoint.kind.__name__.endswith("_Request") else MESSAGES
            found[endpoint.topic] = fuzz(endpoint, count, k, now_ns=subject.now_ns, work=subject.work)
            assert found[endpoint.topic].messages == count, "not all of them reached the callback"
        assert not {topic: each.errors for topic, each in found.items() if each.errors}
        assert subject.works() == ""


def test_every_node_is_among_them() -> None:
    assert modules() <= {case.module for case in CASES.values()}


def test_every_subscription_and_service_in_the_code_was_among_them() -> None:
    """Those, too, that a node makes only with some profile or parameter: else a case is missing."""
    if tried < set(CASES):
        pytest.skip("it looks at what the tests of all nodes above have done")
    missed = {
        site for site in sites() if not any(file == site[0] and site[1] <= line <= site[2] for file, line in used)
    }
    assert not missed


def test_what_a_node_asks_is_asked_by_a_guarded_client() -> None:
    """Rclpy's own is served by the executor, where an answer that cannot be taken ends the process."""
    asked = [path.name for path in (ROOT / "ros2_nodes").rglob("*.py") if ".create_client(" in path.read_text()]
    assert asked == ["guard.py"]

"""No message ends a node, holds it up or locks the robot out; and no subscription is left out of that."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.poison.cases import CASES, running
from tests.poison.fuzzing import Found, fuzz, modules, sites, watched_sites

MESSAGES, REQUESTS = 60, 10
"""To each subscription, and to each service; `benchmarks/fuzz.py` sends 100 000."""

used: set[tuple[str, int]] = set()
"""Where the nodes below were given what they subscribe and serve."""
tried: set[str] = set()


@pytest.mark.parametrize("name", CASES)
def test_any_message_is_taken_or_refused_and_the_node_goes_on(name: str, tmp_path: Path) -> None:
    """Nothing is raised, and it works afterwards; whoever adds a topic says what a good message of it is."""
    tried.add(name)
    with watched_sites(used), running(name, tmp_path) as subject:
        endpoints = subject.endpoints()
        assert not [endpoint.topic for endpoint in endpoints if not endpoint.makers], "add to tests/poison/messages.py"
        found: dict[str, Found] = {}
        for k, endpoint in enumerate(endpoints):
            count = REQUESTS if endpoint.kind.__name__.endswith("_Request") else MESSAGES
            found[endpoint.topic] = fuzz(endpoint, count, k, now_ns=subject.now_ns, work=subject.work)
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

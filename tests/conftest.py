"""Keeps these tests off every other ROS graph of the machine, that of a second test process too, and its latch."""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import tempfile
from collections import Counter

import pytest
from hypothesis import HealthCheck, settings

from tendon.graph.domain import claim_domain
from tests.laws import THOROUGH

os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
domain, claim = claim_domain()
os.environ["ROS_DOMAIN_ID"] = str(domain)
os.environ["TENDON_STATE"] = tempfile.mkdtemp(prefix="tendon-state-")
atexit.register(shutil.rmtree, os.environ["TENDON_STATE"], ignore_errors=True)

# Under `nohup`, or in the background of a script, signals are ignored that processes of the tests are to end by.
for each in (signal.SIGHUP, signal.SIGINT):
    if signal.getsignal(each) is signal.SIG_IGN:
        signal.signal(each, signal.default_int_handler if each is signal.SIGINT else signal.SIG_DFL)

# No law fails because a machine is slow.
patient = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("usual", **patient)
settings.register_profile("laws", max_examples=THOROUGH, **patient)
settings.load_profile("usual")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with the most tests on running graphs come first, so that no process is left with a long one in the end."""
    graphs = Counter(item.path for item in items if item.get_closest_marker("graph"))
    items.sort(key=lambda item: -graphs[item.path])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """`make test` runs graphs and computes at the same time; `make test-laws` shares out single tests as it is."""
    if config.getoption("dist") != "loadfile":
        return None
    from tests.scheduling import FromBothEnds

    return FromBothEnds(config, log)

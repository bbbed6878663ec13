"""Each fault that can be tried fast, once, with real processes: no limit is broken, and what must follow follows.

`make faults` runs all of them several times and prints the table.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults import start_faults
from tests.faults.bench import Bench
from tests.faults.faults import FAULTS, Fault
from tests.faults.kill import fault_of
from tests.faults.lost_packets import reaches_others
from tests.faults.trial import AGREED_MS, Trial, try_fault

pytestmark = pytest.mark.graph

QUICK = [fault for fault in FAULTS.values() if fault.quick and fault.graph == "swing"]
QUICK.sort(key=lambda fault: fault.clock != "realtime")  # each change of the clock starts another graph
TRIES = 3
QUICK_START = [fault for fault in start_faults.FAULTS if fault.quick]


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """One graph for all of this file, as long as it lives."""
    made = Bench(tmp_path_factory.mktemp("faults"))
    yield made
    made.close()


def tried(bench: Bench, fault: Fault, stop: bool = False) -> Trial:
    """Tries a fault; again while the machine is so busy that a command reaches the robot too late to join."""
    for _ in range(TRIES - 1):
        trial = try_fault(bench, fault, stop)
        if not trial.broken or trial.late_ms <= AGREED_MS:
            return trial
    return try_fault(bench, fault, stop)


def check(trial: Trial) -> None:
    """What holds after any fault, however slow the machine is."""
    assert trial.worst is not None and trial.worst.broken == 0, trial
    assert trial.table_m is not None and trial.table_m > 0.0, trial
    assert not trial.problem, trial


@pytest.mark.parametrize("fault", QUICK, ids=lambda fault: fault.name)
def test_a_fault_breaks_no_limit_and_ends_as_it_must(bench: Bench, fault: Fault) -> None:
    if fault.loses_packets and not reaches_others():
        pytest.skip("losing packets of other processes takes pidfd_getfd, which this container forbids")
    check(tried(bench, fault))


@pytest.mark.parametrize("name", ["wild chunks only", "joint states stopped"])
def test_the_stop_service_wins_during_a_fault(bench: Bench, name: str) -> None:
    check(tried(bench, FAULTS[name], stop=True))


@pytest.mark.parametrize("start", QUICK_START, ids=lambda start: start.row)
def test_a_wrong_bundle_ends_its_node_before_it_is_parsed(start: start_faults.StartFault, tmp_path: Path) -> None:
    assert start.run is not None
    trial = start.run(random.Random(0), tmp_path)
    assert not trial.problem, trial


def test_when_the_whole_graph_loses_its_supervisor_the_robot_stops_inside_its_limits(bench: Bench) -> None:
    check(try_fault(bench, fault_of("tendon run")))

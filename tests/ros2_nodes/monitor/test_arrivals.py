"""When a command arrived: never later than it may have been, so nobody is blamed for a monitor that was held up."""

from __future__ import annotations

import time

import pytest

from tendon.core.clock import AwakeClock, ManualClock
from tendon.ros2_nodes.base.message_info import MessageInfo, WithInfo
from tendon.ros2_nodes.monitor.arrivals import Arrivals

MS = 1_000_000
START_NS = 10**18


class FakeClock(ManualClock):
    """ROS time of which a test decides; wall time and the system clock are those of `time`, which it sets too."""

    def __init__(self, simulated: bool) -> None:
        super().__init__(START_NS)
        self.simulated = simulated

    def ago_ns(self, wall_ns: int) -> int:
        return self.now_ns() - (wall_ns // 10 if self.simulated else wall_ns)


class Bench:
    def __init__(self, monkeypatch: pytest.MonkeyPatch, simulated: bool = False) -> None:
        self.clock = FakeClock(simulated)
        self.awake = AwakeClock(self.clock, 20 * MS, 45 * MS, 2500 * MS)
        self.arrivals = Arrivals(self.clock, self.awake)  # type: ignore[arg-type]
        self.set_ns = 0
        monkeypatch.setattr(time, "monotonic_ns", lambda: self.clock.now_ns() - START_NS + 10**12)
        monkeypatch.setattr(time, "time_ns", lambda: self.clock.now_ns() + self.set_ns)

    def run(self, ms: int) -> None:
        for _ in range(ms // 5):
            self.clock.advance_ns(5 * MS)
            self.awake.now_ns()
            self.arrivals.ran(time.monotonic_ns())

    def age_ms(self, sent_ms: float, received_ms: float, stamp_ms: float) -> float:
        """How late a command came, whose stamp, sending and reception were so long ago."""
        now_ns = time.time_ns()
        stamp_ns = self.clock.now_ns() - round(stamp_ms * MS)
        at = [now_ns - round(ms * MS) if ms else 0 for ms in (sent_ms, received_ms)]
        self.awake.now_ns()
        info = MessageInfo(sent_ns=at[0], received_ns=at[1], number=1)
        return (self.arrivals.earliest_ns(info, stamp_ns) - stamp_ns) / MS


def test_what_waited_in_a_monitor_that_ran_was_late_only_until_it_was_received(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(monkeypatch)
    bench.run(100)
    assert bench.age_ms(sent_ms=38, received_ms=37, stamp_ms=40) == 3, "received 3 ms after its stamp"
    assert bench.age_ms(sent_ms=38, received_ms=3, stamp_ms=40) == 37, "35 ms on its way, and the monitor ran"
    assert bench.age_ms(sent_ms=1, received_ms=1, stamp_ms=40) == 39, "sent 39 ms after its stamp"


def test_a_monitor_that_did_not_run_while_a_command_came_believes_when_it_was_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bench = Bench(monkeypatch)
    bench.run(100)
    bench.clock.advance_ns(40 * MS)
    assert bench.age_ms(sent_ms=35, received_ms=1, stamp_ms=37) == 2
    assert bench.age_ms(sent_ms=1, received_ms=1, stamp_ms=37) == 36, "it was sent that late"


def test_what_the_whole_machine_slept_through_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control node was stopped between its check and the sending, as was everything else."""
    bench = Bench(monkeypatch)
    bench.run(100)
    bench.clock.advance_ns(2000 * MS)
    assert bench.age_ms(sent_ms=1, received_ms=1, stamp_ms=2003) == pytest.approx(2, abs=1)


@pytest.mark.parametrize("hour", [-1, 1])
def test_a_system_clock_that_is_set_makes_no_command_late(monkeypatch: pytest.MonkeyPatch, hour: int) -> None:
    bench = Bench(monkeypatch)
    bench.run(100)
    shift_ms = hour * 3_600_000
    assert -1 <= bench.age_ms(sent_ms=3 + shift_ms, received_ms=2 + shift_ms, stamp_ms=4) <= 4


@pytest.mark.parametrize("before", [True, False], ids=["before it was received", "after"])
@pytest.mark.parametrize("set_ms", [-4000, -300, 50, 1000, 4000])
def test_a_clock_that_is_set_while_a_command_waits_makes_it_neither_early_nor_late(
    monkeypatch: pytest.MonkeyPatch, set_ms: int, before: bool
) -> None:
    """A step by up to 5 s once made the command seem to come that long before its stamp, which latched."""
    bench = Bench(monkeypatch)
    bench.run(100)
    bench.clock.advance_ns(15 * MS)
    bench.set_ns = set_ms * MS
    bench.arrivals.ran(time.monotonic_ns() - 15 * MS)
    shift_ms = 0 if before else set_ms
    assert bench.age_ms(sent_ms=3 + shift_ms, received_ms=2 + shift_ms, stamp_ms=4) == 1


def test_without_times_of_the_middleware_it_came_when_this_process_last_ran(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(monkeypatch)
    bench.run(100)
    bench.clock.advance_ns(4 * MS)
    assert bench.age_ms(sent_ms=0, received_ms=0, stamp_ms=10) == 6


def test_in_simulated_time_the_time_at_which_it_was_sent_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The robot has the command before time goes on, however late the monitor hears it."""
    bench = Bench(monkeypatch, simulated=True)
    bench.run(100)
    assert bench.age_ms(sent_ms=50, received_ms=1, stamp_ms=10) == 5


def test_a_message_that_does_not_follow_the_one_before_tells_of_a_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    arrivals = Bench(monkeypatch).arrivals
    numbers = [(7, True), (8, False), (10, True), (11, False)]
    for number, lost in numbers:
        assert arrivals.lost("arm", MessageInfo(sent_ns=0, received_ns=0, number=number), apart=False) is lost
    silent = MessageInfo(sent_ns=0, received_ns=0, number=0)
    assert arrivals.lost("arm", silent, apart=True) and not arrivals.lost("arm", silent, apart=False)


def test_both_ways_of_executors_to_hand_on_the_info_are_understood() -> None:
    heard: list[tuple[bytes, MessageInfo]] = []
    take = WithInfo(lambda message, info: heard.append((message, info)))
    said = {"source_timestamp": 1, "received_timestamp": 2, "publication_sequence_number": 3}
    take(b"x", said)
    take((b"x", said))
    take((b"x", {"source_timestamp": 0, "received_timestamp": 0, "publication_sequence_number": None}))
    known = (b"x", MessageInfo(sent_ns=1, received_ns=2, number=3))
    assert heard == [known, known, (b"x", MessageInfo(sent_ns=0, received_ns=0, number=0))]


def test_how_long_a_message_waited_for_its_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(monkeypatch)
    bench.run(100)
    info = MessageInfo(sent_ns=0, received_ns=time.time_ns() - 13 * MS, number=1)
    assert bench.arrivals.waited_ns(info) == 13 * MS
    assert bench.arrivals.waited_ns(MessageInfo(sent_ns=0, received_ns=0, number=1)) == 0
    assert Bench(monkeypatch, simulated=True).arrivals.waited_ns(info) == 0

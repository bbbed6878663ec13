"""The latch: it survives whatever ends the monitor, a stop always wins, and nothing but `arm` ever arms."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tendon.control.mode_machine import ModeMachine
from tendon.core.causes import Cause, Reason
from tendon.core.errors import StoppedError
from tendon.core.modes import Mode, PermissionState, Source
from tendon.robots.profile import load_profile
from tendon.robots.safety_settings import nanoseconds
from tendon.safety.latch import KEPT, LatchFile, LatchRecord, state_folder
from tendon.safety.latency_watch import LatencyWatch
from tendon.safety.monitor import SafetyMonitor
from tendon.safety.response import Requests, Response
from tendon.safety.sender_watch import REMEMBERED_NS, BreachWatch, SourceWatch
from tests.laws import law_settings

MS = 1_000_000
PROFILE = load_profile("panda")
HOME, STILL = PROFILE.vector("home"), np.zeros(8)
SLOW_NS, HOLD_NS = map(nanoseconds, (PROFILE.safety.latency_slow_s, PROFILE.safety.latency_hold_s))
TOPIC = "panda_arm_controller/joint_trajectory"


class MonitorAndController(RuleBasedStateMachine):
    """A monitor, its latch file and a controller's mode machine, each of which may die at any moment."""

    @initialize()
    def begin(self) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="tendon-latch-")
        self.now_ns, self.starts = 10**12, 0
        self.velocity, self.beats, self.joints = STILL, True, True
        self.asked_to_arm = False
        self.controller, self.known = ModeMachine(), None
        self.start_monitor()
        self.time_passes(60)

    def start_monitor(self) -> None:
        self.file = LatchFile(Path(self.folder.name) / "latch.json")
        self.requests, self.breaches = Requests(PROFILE.safety), BreachWatch(PROFILE.safety)
        inherited = self.file.inherited()
        watches = (self.requests, self.breaches)
        self.monitor = SafetyMonitor(PROFILE, ("control_node",), watches=watches, latched=inherited)
        self.inherited, self.asked_to_arm = inherited, False
        self.kept = LatchRecord(state=PermissionState.STANDBY)

    @rule(milliseconds=st.integers(10, 200))
    def time_passes(self, milliseconds: int) -> None:
        for _ in range(milliseconds // 10):
            self.now_ns += 10 * MS
            self.step()

    def step(self) -> None:
        if self.beats:
            self.monitor.beat("control_node", str(self.starts), self.now_ns)
        if self.joints:
            self.monitor.measured(HOME, self.velocity, self.now_ns)
        permission = self.monitor.permission(self.now_ns)
        kept = LatchRecord(state=permission.state, reason=permission.latch)
        if kept != self.kept:
            self.kept = kept
            self.file.save(kept)
        changed = self.known is not None and permission.event > self.known
        if permission.latch is not None:
            self.controller.stop(permission.latch)
            self.controller.rest()
        elif changed and permission.state is PermissionState.STANDBY and self.controller.mode is Mode.LATCHED:
            self.controller.reset([])
        elif changed and permission.armed and self.controller.mode is Mode.STANDBY:
            self.controller.arm([])
        if permission.state is not PermissionState.LATCHED:
            self.known = max(permission.event, self.known or 0)
        if self.beats:
            stop = self.controller.reason
            cause, text = (None, "") if stop is None else (stop.cause, stop.text)
            self.monitor.report(self.controller.mode, self.known or 0, text, cause=cause)

    @rule()
    def stop(self) -> None:
        self.monitor.stop(Reason(Cause.REQUESTED, "asked"))
        self.step()
        assert self.monitor.permission(self.now_ns).state is PermissionState.LATCHED
        assert self.controller.mode is Mode.LATCHED

    @rule()
    def reset(self) -> None:
        latched = self.monitor.permission(self.now_ns).state is PermissionState.LATCHED
        try:
            self.monitor.reset(self.now_ns)
        except StoppedError:
            return
        if latched:
            found = [*self.breaches.findings(self.now_ns), *self.requests.findings(self.now_ns)]
            assert not any(finding.response is Response.STOP for finding in found), "its cause was there"
            assert self.monitor.at_rest and not self.monitor.silent(self.now_ns)
            self.asked_to_arm = False
        assert latched or self.monitor.permission(self.now_ns).state is not PermissionState.LATCHED

    @rule()
    def arm(self) -> None:
        latched = self.monitor.permission(self.now_ns).state is PermissionState.LATCHED
        try:
            self.monitor.arm(self.now_ns)
        except StoppedError:
            return
        assert not latched
        self.asked_to_arm = True

    @rule(beats=st.booleans(), joints=st.booleans(), moves=st.booleans())
    def world_changes(self, beats: bool, joints: bool, moves: bool) -> None:
        self.beats, self.joints, self.velocity = beats, joints, STILL + 0.2 * moves

    @rule()
    def law_is_broken(self) -> None:
        self.breaches.add("panda_arm_controller", Reason(Cause.LAW, "too fast"), self.now_ns)
        armed = self.monitor.permission(self.now_ns).state
        assert armed is not PermissionState.ARMED

    @rule(wish=st.sampled_from(Response))
    def node_asks(self, wish: Response) -> None:
        self.requests.ask("policy_node", wish, "unsure", self.now_ns)
        permission = self.monitor.permission(self.now_ns)
        if wish is Response.STOP:
            assert not permission.armed
        elif permission.armed:
            assert permission.speed <= wish.speed(PROFILE.safety)

    @rule(clean=st.booleans())
    def monitor_restarts(self, clean: bool) -> None:
        before = self.monitor.permission(self.now_ns)
        self.step()
        asked = clean and (before.state is PermissionState.STANDBY or before.cause is Cause.REQUESTED)
        if asked:
            self.file.save(LatchRecord(state=PermissionState.STANDBY))
        self.file.close(5.0)
        self.now_ns += MS  # a start takes time: an event of the monitor before is never that of this one
        self.start_monitor()
        after = self.monitor.permission(self.now_ns)
        assert after.state is not PermissionState.ARMED
        if before.state is PermissionState.LATCHED and not asked:
            assert after.state is PermissionState.LATCHED and after.reason == before.reason.removesuffix(KEPT) + KEPT
            assert after.cause is (Cause.RESTARTED if before.cause is Cause.REQUESTED else before.cause)
        if before.armed:
            assert after.state is PermissionState.LATCHED

    @rule()
    def controller_restarts(self) -> None:
        self.starts += 1
        self.controller, self.known = ModeMachine(), None
        self.now_ns += 1000 * MS
        self.monitor.beat("control_node", str(self.starts), self.now_ns)
        assert self.monitor.permission(self.now_ns).state is not PermissionState.ARMED
        self.asked_to_arm = False

    @invariant()
    def only_arm_arms(self) -> None:
        if not hasattr(self, "monitor"):
            return
        if self.monitor.permission(self.now_ns).armed:
            assert self.asked_to_arm
        if self.monitor.permission(self.now_ns).state is PermissionState.LATCHED:
            self.asked_to_arm = False

    def teardown(self) -> None:
        if hasattr(self, "file"):
            self.file.close(5.0)
            self.folder.cleanup()


TestMonitorAndController = MonitorAndController.TestCase
TestMonitorAndController.settings = law_settings(max_examples=60, stateful_step_count=30)


def record_of(path: Path, state: PermissionState, reason: Reason | None = None) -> Reason | None:
    file = LatchFile(path)
    file.save(LatchRecord(state=state, reason=reason))
    file.close(5.0)
    return LatchFile(path).inherited()


def test_a_latch_is_found_again_and_standby_is_no_latch(tmp_path: Path) -> None:
    path = tmp_path / "new" / "latch-panda-0.json"
    assert LatchFile(path).inherited() is None
    kept = record_of(path, PermissionState.LATCHED, Reason(Cause.TRACKING, "panda_joint1 is too fast"))
    assert kept == Reason(Cause.TRACKING, "panda_joint1 is too fast (latched before this start)")
    assert record_of(path, PermissionState.LATCHED, kept) == kept, "said once, however often it starts"
    armed = record_of(path, PermissionState.ARMED)
    assert armed is not None and armed.cause is Cause.RESTARTED and "was armed when it ended" in armed.text
    assert record_of(path, PermissionState.STANDBY) is None
    assert [p.name for p in path.parent.iterdir()] == [path.name], "a half-written file was left"


def test_a_requested_stop_of_a_monitor_that_did_not_end_on_request_is_no_request_any_more(tmp_path: Path) -> None:
    kept = record_of(tmp_path / "latch.json", PermissionState.LATCHED, Reason(Cause.REQUESTED, "stop was requested"))
    assert kept == Reason(Cause.RESTARTED, "stop was requested (latched before this start)")


@pytest.mark.parametrize(
    "content",
    ["", "{", "[1]", '{"state": "latched"}', '{"state": "latched", "cause": "moon", "reason": ""}', "\0\0\0"],
)
def test_a_latch_file_that_cannot_be_read_is_a_latch(tmp_path: Path, content: str) -> None:
    path = tmp_path / "latch.json"
    path.write_text(content)
    found = LatchFile(path).inherited()
    assert found is not None and found.cause is Cause.LATCH_FILE and "cannot be read" in found.text


def test_a_disk_that_takes_nothing_is_said_and_delays_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    file = LatchFile(tmp_path / "file" / "latch.json")
    last = LatchRecord(state=PermissionState.LATCHED, reason=Reason(Cause.LAW, "the last"))
    file.save(last)
    file.close(5.0)
    assert "would not survive" in file.problem
    monkeypatch.setattr(os, "fsync", lambda _: time.sleep(0.5))
    slow = LatchFile(tmp_path / "latch.json")
    begin = time.perf_counter()
    for _ in range(100):
        slow.save(last)
    assert time.perf_counter() - begin < 0.2
    slow.close(5.0)
    kept = LatchFile(tmp_path / "latch.json").inherited()
    assert kept == Reason(Cause.LAW, "the last (latched before this start)")


def test_where_state_is_kept() -> None:
    assert state_folder({"TENDON_STATE": "/a", "XDG_STATE_HOME": "/b"}) == Path("/a")
    assert state_folder({"XDG_STATE_HOME": "/b"}) == Path("/b/tendon")
    assert state_folder({}) == Path.home() / ".local" / "state" / "tendon"


def senders() -> SourceWatch:
    return SourceWatch({TOPIC: "control_node", "policy/action_chunk": ""}, ("policy_node",), 0, PROFILE.safety)


def test_a_second_publisher_of_commands_is_named() -> None:
    watch = senders()
    watch.publishers(TOPIC, [("control_node", "a")], 0)
    assert not list(watch.findings(0))
    watch.publishers(TOPIC, [("control_node", "a"), ("rogue", "b")], 0)
    (finding,) = watch.findings(0)
    assert finding.response is Response.STOP and "rogue may publish" in finding.reason


def test_a_publisher_without_a_name_counts_when_it_stays_so() -> None:
    watch = senders()
    for now_ns in (0, 200 * MS):
        watch.publishers(TOPIC, [("control_node", "a"), ("", "b")], now_ns)
        assert not list(watch.findings(now_ns))
    watch.publishers(TOPIC, [("control_node", "a"), ("", "b")], 400 * MS)
    assert "without a name" in next(iter(watch.findings(400 * MS))).reason


PEOPLE = "people"


def test_two_who_say_where_people_are_are_a_stop() -> None:
    """One saw a person at 0.9 m, the other said a millisecond later that nobody is there: the step was taken."""
    watch = SourceWatch({PEOPLE: ""}, (), 0, PROFILE.safety)
    watch.publishers(PEOPLE, [("detector", "a")], 0)
    assert not list(watch.findings(0))
    watch.publishers(PEOPLE, [("detector", "a"), ("other_detector", "b")], MS)
    (finding,) = watch.findings(MS)
    assert finding.response is Response.STOP and finding.cause is Cause.SENDER
    assert finding.reason == "detector and other_detector both publish on people"


def test_two_of_one_name_who_say_where_people_are_are_a_stop_when_neither_is_a_dead_one() -> None:
    watch = SourceWatch({PEOPLE: ""}, (), 0, PROFILE.safety)
    watch.publishers(PEOPLE, [("detector", "a")], 0)
    both = [("detector", "a"), ("detector", "b")]
    two = "people has 2 publishers called detector"
    for now_ns in (MS, REMEMBERED_NS):
        watch.publishers(PEOPLE, both, now_ns)
        (finding,) = watch.findings(now_ns)
        assert finding.response is Response.HOLD and finding.reason == f"{two}, or one was killed a moment ago"
    watch.publishers(PEOPLE, both, REMEMBERED_NS + 2 * MS)
    (finding,) = watch.findings(REMEMBERED_NS + 2 * MS)
    assert finding.response is Response.STOP and finding.reason == two
    watch.publishers(PEOPLE, both[1:], REMEMBERED_NS + 3 * MS)
    assert not list(watch.findings(REMEMBERED_NS + 3 * MS))


def test_heartbeats_tell_which_of_two_teleoperations_live() -> None:
    chunks, both = "teleop/action_chunk", [("teleop_node", "a"), ("teleop_node", "b")]
    watch = SourceWatch({chunks: ""}, ("teleop_node",), 0, PROFILE.safety)
    watch.publishers(chunks, both, MS)
    assert not list(watch.findings(MS)), "the first was killed"
    for instance in ("first", "second", "first"):
        watch.beat("teleop_node", instance, MS)
    assert "two of teleop_node run at once" in next(iter(watch.findings(MS))).reason


def test_a_killed_control_node_is_remembered_by_the_middleware_and_forgiven_for_that_long() -> None:
    watch, now_ns = senders(), 10**12
    both = [("control_node", "a"), ("control_node", "b")]
    watch.beat("control_node", "new", now_ns)
    watch.publishers(TOPIC, both, now_ns)
    assert not list(watch.findings(now_ns))
    watch.publishers(TOPIC, both, now_ns + REMEMBERED_NS + 1)
    assert "2 publishers called control_node" in next(iter(watch.findings(now_ns + REMEMBERED_NS + 1))).reason


def test_a_publisher_whose_name_the_middleware_has_forgotten_is_who_it_was() -> None:
    """As after a standstill that is longer than the lease of DDS, 20 s."""
    watch = senders()
    watch.publishers(TOPIC, [("control_node", "a")], 0)
    watch.publishers(TOPIC, [], 21 * 10**9)
    for at_ns in (22 * 10**9, 60 * 10**9):
        watch.publishers(TOPIC, [("", "a")], at_ns)
        assert not list(watch.findings(at_ns))
    watch.publishers(TOPIC, [("", "b")], 60 * 10**9)
    watch.publishers(TOPIC, [("", "b")], 61 * 10**9)
    assert "a node without a name" in next(iter(watch.findings(61 * 10**9))).reason


@pytest.mark.parametrize("node", ["control_node", "policy_node"])
def test_two_processes_of_one_name_are_found_and_a_restart_is_not(node: str) -> None:
    watch, now_ns = senders(), 10**12
    watch.beat(node, "1", now_ns)
    watch.beat(node, "2", now_ns + 10 * MS)
    assert not list(watch.findings(now_ns + 10 * MS)), "simulated time stands still while its owner starts again"
    watch.beat(node, "2", now_ns + 1000 * MS)
    assert not list(watch.findings(now_ns + 1000 * MS))
    watch.beat(node, "1", now_ns + 1010 * MS)
    assert f"two of {node} run at once" in next(iter(watch.findings(now_ns + 1010 * MS))).reason


def test_two_who_propose_chunks_are_named() -> None:
    watch = senders()
    watch.publishers("policy/action_chunk", [("policy_node", "a"), ("replay", "b")], 0)
    assert "policy_node and replay both publish" in next(iter(watch.findings(0))).reason


def test_latency_over_its_budget_slows_and_far_over_it_holds() -> None:
    watch = LatencyWatch(PROFILE.safety)
    watch.chunk(Source.POLICY, HOLD_NS + MS, 0)
    assert not list(watch.findings(0)), "one late chunk is none"
    for k in range(3):
        watch.chunk(Source.POLICY, SLOW_NS + MS, k * MS)
    assert next(iter(watch.findings(3 * MS))).response is Response.SLOW
    watch.report("observation to command", HOLD_NS + MS, 3 * MS)
    assert max(finding.response for finding in watch.findings(3 * MS)) is Response.HOLD
    assert not list(watch.findings(10**10))


def test_what_was_reported_of_one_source_is_not_held_against_another() -> None:
    """A hand that took over from a slow policy was held for seven seconds."""
    watch = LatencyWatch(PROFILE.safety)
    watch.report("observation to command", HOLD_NS + MS, MS)
    watch.led_by(Source.POLICY)
    assert list(watch.findings(2 * MS)), "it led before"
    watch.led_by(Source.TELEOP)
    assert not list(watch.findings(2 * MS))
    watch.report("observation to command", HOLD_NS + MS, 3 * MS)
    assert list(watch.findings(4 * MS))


@pytest.mark.parametrize(("slow", "quick"), [(Source.POLICY, Source.TELEOP), (Source.TELEOP, Source.POLICY)])
def test_a_quick_source_does_not_hide_a_slow_one_that_leads(slow: Source, quick: Source) -> None:
    """The median was over the chunks of both: ten quick ones to each slow one hid a latency of any length."""
    watch = LatencyWatch(PROFILE.safety)
    for k in range(60):
        watch.chunk(slow if k % 11 == 0 else quick, HOLD_NS + MS if k % 11 == 0 else MS, k * 100 * MS)
    watch.led_by(slow)
    (finding,) = watch.findings(6000 * MS)
    assert finding.response is Response.HOLD and f"observation to chunk of {slow.value} takes" in finding.reason
    watch.led_by(quick)
    assert not list(watch.findings(6000 * MS)), "a person may take over from a slow policy"
    watch.led_by(Source.HOLD)
    assert not list(watch.findings(6000 * MS))

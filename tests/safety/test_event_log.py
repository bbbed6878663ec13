"""The event log: whatever is altered is found, a full disk loses counted lines only, and a run can be replayed."""

from __future__ import annotations

import itertools
import json
import os
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from tendon.cli import main
from tendon.cli.root import EXIT_ERROR
from tendon.control.filter import SafetyFilter
from tendon.core.errors import IntegrityError, MismatchError
from tendon.evaluation.replay import replay
from tendon.robots.digest import profile_digest
from tendon.robots.profile import load_profile
from tendon.safety import event_log
from tendon.safety.event_log import EventLog, lines_of, log_files, read_log, seal
from tests.laws import law_settings

PROFILE = load_profile("panda")
COUNT = 6


def write(folder: Path, count: int = COUNT) -> Path:
    log = EventLog(folder, "panda-0", {"robot": "panda", "profile": profile_digest(PROFILE)})
    for k in range(count):
        log.put("permission", state="armed", speed=1.0, number=k, values=[0.1 * k, float("nan")])
    log.close()
    assert log.path is not None
    return log.path


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return write(tmp_path_factory.mktemp("log")).read_bytes()


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    reading = read_log(write(tmp_path))
    assert reading.whole
    assert reading.events[0]["kind"] == "header" and reading.events[0]["robot"] == "panda"
    assert [event["number"] for event in lines_of(reading.events, "permission")] == list(range(COUNT))


@law_settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_altered_byte_is_found_and_its_line_named(tmp_path: Path, written: bytes, data: st.DataObject) -> None:
    where = data.draw(st.integers(0, len(written) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda value: value != written[where]))
    path = tmp_path / "altered.jsonl"
    path.write_bytes(written[:where] + bytes([byte]) + written[where + 1 :])
    reading = read_log(path)
    assert not reading.whole
    line = written[:where].count(b"\n") + 1
    if reading.cut:  # the last newline is what was altered
        assert where == len(written) - 1 and len(reading.events) == COUNT
    else:
        assert reading.altered == line


@law_settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_line_that_is_taken_away_doubled_or_moved_is_found(
    tmp_path: Path, written: bytes, data: st.DataObject
) -> None:
    lines = written.splitlines(keepends=True)
    first, second = data.draw(st.tuples(st.integers(0, COUNT - 1), st.integers(0, COUNT)).filter(lambda p: p[0] < p[1]))
    changed = {
        "taken": lines[:first] + lines[first + 1 :],
        "doubled": [*lines[: first + 1], *lines[first:]],
        "moved": [*lines[:first], lines[second], *lines[first:second], *lines[second + 1 :]],
    }[data.draw(st.sampled_from(["taken", "doubled", "moved"]))]
    path = tmp_path / "altered.jsonl"
    path.write_bytes(b"".join(changed))
    assert read_log(path).altered is not None


@given(keep=st.integers(1, 10**6))
@law_settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_cut_last_line_is_tolerated_and_said(tmp_path: Path, written: bytes, keep: int) -> None:
    path = tmp_path / "cut.jsonl"
    keep = min(max(keep % len(written) + 1, written.index(b"\n")), len(written) - 1)
    path.write_bytes(written[:keep])
    reading = read_log(path)
    assert reading.altered is None
    assert reading.cut is (not written[:keep].endswith(b"\n"))
    assert len(reading.events) == written[:keep].count(b"\n")


def test_a_disk_that_hangs_delays_nobody_and_what_is_lost_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_log, "QUEUE", 50)
    real, hangs = os.write, True

    def slow(file: int, data: bytes) -> int:
        while hangs:
            time.sleep(0.01)
        return real(file, data)

    monkeypatch.setattr(event_log.os, "write", slow)
    log = EventLog(tmp_path, "panda-0", {"robot": "panda"})
    longest = 0.0
    for k in range(200):
        begin = time.perf_counter()
        log.put("permission", number=k)
        longest = max(longest, time.perf_counter() - begin)
    assert longest < 0.1  # it would be for ever
    hangs = False
    log.close(5.0)
    assert log.lost > 0
    reading = read_log(log.path)
    assert reading.whole
    assert (
        sum(event["lines"] for event in lines_of(reading.events, "dropped"))
        + len(list(lines_of(reading.events, "permission")))
        == 200
    )


def test_a_disk_that_is_full_from_the_start_leaves_nothing_open_and_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(file: int, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(event_log, "SYNC_S", 0.01)
    monkeypatch.setattr(event_log.os, "write", full)
    before = set(Path("/proc/self/fd").iterdir())
    log = EventLog(tmp_path, "panda-0", {"robot": "panda"})
    log.put("permission", number=1)
    deadline = time.monotonic() + 5.0
    while not log.problem and time.monotonic() < deadline:
        time.sleep(0.01)
    log.close(5.0)
    assert "No space left" in log.problem
    assert not list(tmp_path.iterdir())
    assert set(Path("/proc/self/fd").iterdir()) <= before


def test_a_full_disk_leaves_a_log_that_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_log, "SYNC_S", 0.01)
    real, left = os.write, [2000]

    def full(file: int, data: bytes) -> int:
        taken = data[: max(0, left[0])]
        left[0] -= len(taken)
        if not taken:
            raise OSError(28, "No space left on device")
        return real(file, taken)

    monkeypatch.setattr(event_log.os, "write", full)
    log = EventLog(tmp_path, "panda-0", {"robot": "panda"})
    for k in range(100):
        log.put("permission", number=k)
        time.sleep(0.001)
    deadline = time.monotonic() + 5.0
    while not log.problem and time.monotonic() < deadline:
        time.sleep(0.01)
    assert "No space left" in log.problem
    assert read_log(log.path).whole
    left[0] = 10**9  # somebody made room
    log.close(5.0)
    reading = read_log(log.path)
    assert reading.whole and len(list(lines_of(reading.events, "permission"))) == 100


def test_a_large_file_is_followed_by_another_and_old_ones_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_log, "MAX_BYTES", 300)
    monkeypatch.setattr(event_log, "FILES", 3)
    log = EventLog(tmp_path, "panda-0", {"robot": "panda"})
    for k in range(8):
        log.put("permission", number=k, text="x" * 300)
        time.sleep(0.02)
    log.close()
    files = log_files(tmp_path, "panda-0")
    assert len(files) == 3
    for earlier, later in itertools.pairwise(files):
        last = json.loads(earlier.read_bytes().splitlines()[-1])["sha256"]
        assert read_log(later).events[0]["after"] == last


def test_a_missing_log_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(IntegrityError, match="no event log"):
        read_log(tmp_path / "none.jsonl")


@pytest.mark.parametrize("command", ["replay-log", "verify-log", "log"])
@pytest.mark.parametrize(
    "content", [None, b"", b"\n", bytes(range(256)) * 9, b'{"tasks": []}\n{"kind": "header"}\n'], ids=repr
)
def test_what_is_no_event_log_is_one_line_that_says_so(
    tmp_path: Path, command: str, content: bytes | None, capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder (`None`), nothing, noise, or the JSON of something else is not a log that somebody altered."""
    path = tmp_path / "other"
    path.mkdir() if content is None else path.write_bytes(content)
    assert main(["safety", command, str(path)]) == EXIT_ERROR
    said = capsys.readouterr()
    assert str(path) in said.err and "no event log" in said.err and "name a RUN.jsonl of " in said.err
    assert said.err.count("\n") == 1 and not said.out


@pytest.mark.parametrize("header", [{}, {"robot": "panda", "profile": profile_digest(PROFILE), "environment": ""}])
def test_a_log_that_is_cut_is_replayed_up_to_there(
    tmp_path: Path, header: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    """One whose header says nothing of the robot is refused in a line."""
    path, link, lines = tmp_path / "cut.jsonl", "", []
    for event in [{"kind": "header", **header}, *recorded()]:
        line, link = seal(json.dumps({"at": 0, **event}, separators=(",", ":")), link)
        lines.append(line)
    path.write_text("".join(lines)[:-10])
    code = main(["safety", "replay-log", str(path)])
    said = capsys.readouterr()
    assert "the last line is cut" in said.out
    if header:
        assert code == 0 and "80 filter steps computed again" in said.out and "the same to the last bit" in said.out
    else:
        assert code == EXIT_ERROR and "which robot it is of" in said.err and said.err.count("\n") == 1


def recorded(steps: int = 80) -> list[dict[str, object]]:
    """Events of a filter that follows a random target, with commands of both controllers."""
    rng, made = np.random.default_rng(0), SafetyFilter(PROFILE)
    home, due = PROFILE.vector("home"), 10**12
    events: list[dict[str, object]] = [{"kind": "input", "stamp": due, "reset": home.tolist(), "steps": []}]
    made.reset(home)
    for k in range(steps):
        due += 10**7
        target = None if k % 20 > 15 else home + rng.normal(0.0, 0.3, 8)
        made.speed = 0.3 if k % 30 > 20 else 1.0
        verdict = made.step(target, None)
        given_target = None if target is None else target.tolist()
        step = [due, given_target, None, made.speed]
        events.append({"kind": "input", "stamp": due, "reset": None, "steps": [step]})
        for controller in PROFILE.controllers:
            columns = [PROFILE.joint_names.index(name) for name in controller.joints]
            point = [due, verdict.position[columns].tolist(), verdict.velocity[columns].tolist()]
            events.append({"kind": "command", "controller": controller.name, "points": [point]})
    return json.loads(json.dumps(events))


def test_a_replay_is_the_same_to_the_last_bit() -> None:
    result = replay(recorded(), PROFILE, SafetyFilter(PROFILE))
    assert result.same and result.steps == result.compared == 80 and result.difference == 0.0


def test_a_replay_names_what_differs() -> None:
    events = recorded()
    events[-2]["points"][0][1][2] += 1e-4
    result = replay(events, PROFILE, SafetyFilter(PROFILE))
    assert not result.same and "panda_joint3" in result.where and result.difference == pytest.approx(1e-4)


def test_commands_of_another_robot_are_refused() -> None:
    with pytest.raises(MismatchError, match="other_controller"):
        replay([{"kind": "command", "controller": "other_controller", "points": []}], PROFILE, SafetyFilter(PROFILE))


@pytest.mark.parametrize("where", ["reset", "target", "velocity", "away"])
def test_inputs_of_another_robot_are_refused(where: str) -> None:
    home = PROFILE.vector("home").tolist()
    given = {"reset": home, "target": home, "velocity": None, "away": None, where: home[:-1]}
    step = [10**12, given["target"], given["velocity"], 1.0, given["away"]]
    event = {"kind": "input", "stamp": 10**12, "reset": given["reset"], "steps": [step]}
    with pytest.raises(MismatchError, match=r"shape \(7,\), profile panda has 8 joints"):
        replay([event], PROFILE, SafetyFilter(PROFILE))

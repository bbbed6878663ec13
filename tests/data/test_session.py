"""A recorder makes nobody wait: what a disk cannot take is dropped, counted and said, and what is kept is whole."""

from __future__ import annotations

import errno
import gc
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tendon.core.errors import StoppedError
from tendon.data.reading.recording import McapRecording
from tendon.data.recording import writer as writing
from tendon.data.recording.episode import Outcome
from tendon.data.recording.recover import recover_folder
from tendon.data.recording.session import RecordingSession, Settings
from tendon.data.recording.thread import WriterThread
from tendon.data.recording.writer import Sample
from tests.data.samples import BEGIN, text, texts

PATIENCE_S = 20.0


def wait(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_episodes_are_kept_with_outcome_and_notes_or_discarded(tmp_path: Path) -> None:
    session = RecordingSession(Settings(folder=tmp_path))
    with pytest.raises(StoppedError, match="start one"):
        session.keep(Outcome.SUCCESS)
    session.put(text(0))  # nobody records
    for outcome in (Outcome.SUCCESS, None, Outcome.FAILURE):
        session.start(BEGIN)
        with pytest.raises(StoppedError, match="is being recorded"):
            session.start(BEGIN)
        for sample in texts(20):
            session.put(sample)
        session.note("it went so")
        _ = session.discard() if outcome is None else session.keep(outcome)
    session.start(BEGIN)
    assert session.close()
    names = sorted(each.name for each in tmp_path.iterdir())
    assert names == [f"episode-{k:06d}.mcap" for k in (0, 2, 3)]
    ends = [McapRecording(tmp_path / name).end for name in names]
    assert [end and end.outcome for end in ends] == [Outcome.SUCCESS, Outcome.FAILURE, Outcome.UNKNOWN]
    assert ends[0] is not None and ends[0].notes == ("it went so",) and not ends[0].bad
    assert sum(each.count for each in McapRecording(tmp_path / names[0]).topics.values()) == 20
    assert RecordingSession(Settings(folder=tmp_path)).start(BEGIN).result(20.0).name == "episode-000004.mcap"


class StuckWriter:
    """A disk that takes one message, and then no more until it is let go."""

    messages = bytes = 0
    path = Path("stuck.mcap")

    def __init__(self) -> None:
        self.stuck, self.go = threading.Event(), threading.Event()

    def write(self, _: Sample) -> None:
        self.messages += 1
        if self.messages == 2:
            self.stuck.set()
            assert self.go.wait(PATIENCE_S)

    def tend(self) -> None:
        """Nothing is due."""

    def discard(self) -> None:
        """Nothing is there."""


def test_what_waits_for_the_disk_is_bounded_and_what_was_written_is_let_go() -> None:
    """A batch was kept until its end, while as much again could wait behind it: twice the bound."""
    thread, writer = WriterThread(queue_bytes=10_000), StuckWriter()
    samples = [replace(text(k), data=bytes(bytearray(1000))) for k in range(40)]
    with thread._changed:  # so that they come to the thread as one batch
        thread.begin(lambda: writer)  # type: ignore[arg-type, return-value]
        assert [thread.put(sample) for sample in samples[:20]] == [True] * 8 + [False] * 12
    assert writer.stuck.wait(PATIENCE_S)
    alone, written, waits = (sys.getrefcount(samples[k].data) for k in (39, 0, 2))
    assert written == alone, "it is on the disk, and in memory too"
    assert waits > alone
    assert [thread.put(sample) for sample in samples[20:]] == [True] * 2 + [False] * 18
    assert thread.progress().queued_bytes <= 10_000
    writer.go.set()
    assert thread.close()


def test_pythons_collector_does_not_look_at_what_waits() -> None:
    """A full queue of joint states is 500 000 objects, which a collection needs 0.2 s for."""
    thread, writer = WriterThread(), StuckWriter()
    thread.begin(lambda: writer)  # type: ignore[arg-type, return-value]
    for k in range(2):
        thread.put(text(k))
    assert writer.stuck.wait(PATIENCE_S)
    for k in range(100):
        thread.put(text(k))
    gc.collect()
    assert len(thread._queue) == 100 and not any(map(gc.is_tracked, thread._queue))
    writer.go.set()
    assert thread.close()


def test_lost_messages_mark_the_episode_bad(tmp_path: Path) -> None:
    session = RecordingSession(Settings(folder=tmp_path))
    path = session.start(BEGIN).result(20.0)
    session.put(text(0))
    session.lose("/text", 3)
    assert "3 messages were lost" in session.problem
    session.keep(Outcome.SUCCESS)
    assert session.close()
    end = McapRecording(path).end
    assert end is not None and end.bad and end.lost == {"/text": 3}


def test_a_slow_disk_costs_messages_that_are_counted_and_nobody_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, gate = os.write, [True]

    def slow(number: int, data: bytes) -> int:
        while gate[0] and len(data) > 1000:
            time.sleep(0.01)
        return whole(number, data)

    monkeypatch.setattr(writing.os, "write", slow)
    session = RecordingSession(Settings(folder=tmp_path, queue_bytes=20_000, compression="none"))
    path = session.start(BEGIN).result(20.0)
    longest_s = 0.0
    count, k = 0, 0
    while not (session.progress.dropped or {}) and k < 200_000:
        begin_s = time.perf_counter()
        session.put(text(k, "/slow"))
        longest_s, k = max(longest_s, time.perf_counter() - begin_s), k + 1
        if k % 200 == 0:
            time.sleep(0.6 if k == 200 else 0.0)  # the first chunk is due
    dropped = (session.progress.dropped or {})["/slow"]
    assert dropped and "is too slow" in session.problem
    gate[0] = False
    session.keep(Outcome.SUCCESS)
    assert session.close(PATIENCE_S)
    recording = McapRecording(path)
    count = recording.topics["/slow"].count
    assert recording.end is not None and recording.end.bad
    assert count + recording.end.dropped["/slow"] == k


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EIO])
def test_a_disk_that_fails_ends_the_file_and_what_is_whole_comes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    session = RecordingSession(Settings(folder=tmp_path))
    good = session.start(BEGIN).result(20.0)
    session.put(text(0))
    session.keep(Outcome.SUCCESS)
    session.start(BEGIN)
    for sample in texts(50):
        session.put(sample)
    wait(lambda: session.progress.messages == 50)
    time.sleep(0.7)  # its chunk is with the kernel
    whole = os.write

    def fail(number: int, data: bytes) -> int:
        whole(number, bytes(data)[: len(data) // 2])
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(writing.os, "write", fail)
    session.put(text(99))
    wait(lambda: session.progress.problem)
    assert os.strerror(code) in session.problem and "incomplete" in session.problem
    session.put(text(100))
    session.keep(Outcome.SUCCESS)
    monkeypatch.setattr(writing.os, "write", whole)
    after = session.start(BEGIN).result(20.0)
    session.put(text(0))
    session.keep(Outcome.SUCCESS)
    assert session.close(PATIENCE_S)
    assert not session.progress.problem
    (mended,) = recover_folder(tmp_path)
    end = McapRecording(mended).end
    assert end is not None and end.outcome is Outcome.INCOMPLETE
    assert sum(each.count for each in McapRecording(mended).topics.values()) == 50
    for path in (good, after):
        assert sum(each.count for each in McapRecording(path).topics.values()) == 1


KILLED = """
import sys, time
from pathlib import Path
from tendon.data.recording.session import RecordingSession, Settings
from tests.data.samples import BEGIN, text
session = RecordingSession(Settings(folder=Path(sys.argv[1])))
session.start(BEGIN)
for k in range(100000):
    session.put(text(k))
    if session.progress.messages > 300 and k % 50 == 0:
        print(k, flush=True)
    time.sleep(0.001)
"""


def test_a_recorder_that_is_killed_has_lost_nothing_older_than_its_last_chunk(tmp_path: Path) -> None:
    child = subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path)], stdout=subprocess.PIPE, cwd=Path.cwd())
    assert child.stdout is not None
    said = int(child.stdout.readline())
    time.sleep(1.5)  # what was put in by then is older than any chunk
    child.send_signal(signal.SIGKILL)
    child.wait()
    (path,) = recover_folder(tmp_path)
    numbers = [sample.number for sample in McapRecording(path).samples()]
    assert numbers == list(range(len(numbers))) and len(numbers) > said


def test_two_recorders_in_one_folder_leave_each_other_alone(tmp_path: Path) -> None:
    first = RecordingSession(Settings(folder=tmp_path))
    one = first.start(BEGIN).result(20.0)
    first.put(text(0))
    wait(lambda: first.progress.messages == 1)
    second = RecordingSession(Settings(folder=tmp_path))
    assert not second.recovered
    other = second.start(BEGIN).result(20.0)
    assert other != one
    assert second.close() and first.close()
    assert one.exists() and other.exists()


def test_two_sessions_that_were_there_before_either_recorded_take_different_names(tmp_path: Path) -> None:
    """Each had made up its number by then, and the second file never got its name."""
    sessions = [RecordingSession(Settings(folder=tmp_path)) for _ in range(2)]
    for k in range(3):
        for session in sessions:
            session.start(BEGIN)
            session.put(text(k))
        kept = [session.keep(Outcome.SUCCESS).result(PATIENCE_S) for session in sessions]
        assert len(set(kept)) == 2 and all(path.exists() for path in kept)
    assert all(session.close() for session in sessions)
    assert sorted(each.name for each in tmp_path.iterdir()) == [f"episode-{k:06d}.mcap" for k in range(6)]


@pytest.mark.parametrize("name", ["episode-000004.recovered.mcap", "episode-000004.mcap.damaged"])
def test_the_name_of_a_recovered_file_is_not_taken_again(tmp_path: Path, name: str) -> None:
    """What was recovered would be taken for a copy of the new one, and be left out of datasets."""
    (tmp_path / name).touch()
    session = RecordingSession(Settings(folder=tmp_path))
    assert session.start(BEGIN).result(PATIENCE_S) == tmp_path / "episode-000005.mcap"
    assert session.close()


def test_a_name_that_was_finished_meanwhile_is_not_taken_again(tmp_path: Path) -> None:
    (tmp_path / "a.mcap").write_bytes(b"somebody's")
    with pytest.raises(FileExistsError):
        writing.EpisodeWriter(tmp_path / "a.mcap", BEGIN)
    assert [each.name for each in tmp_path.iterdir()] == ["a.mcap"]


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS])
def test_an_episode_that_cannot_begin_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    """A full disk takes the name of a file and none of its bytes."""
    session, whole = RecordingSession(Settings(folder=tmp_path)), os.write

    def fail(number: int, data: bytes) -> int:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(writing.os, "write", fail)
    opening = session.start(BEGIN)
    session.put(text(0))
    part = tmp_path / "episode-000000.mcap.part"
    with pytest.raises(StoppedError, match=f"^{part} cannot be written: {os.strerror(code)}$"):
        opening.result(PATIENCE_S)
    assert not list(tmp_path.iterdir()) and not session.recording and session.path is None
    with pytest.raises(StoppedError, match="no episode is being recorded"):
        session.keep(Outcome.SUCCESS)
    monkeypatch.setattr(writing.os, "write", whole)
    assert session.start(BEGIN).result(PATIENCE_S).name == "episode-000001.mcap"
    assert session.close(PATIENCE_S) and not session.problem


def test_what_is_not_kept_is_said_to_who_keeps_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = RecordingSession(Settings(folder=tmp_path))
    session.start(BEGIN).result(PATIENCE_S)
    session.put(text(0))

    def fail(number: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(writing.os, "write", fail)
    with pytest.raises(StoppedError, match="No space left on device; the episode is incomplete"):
        session.keep(Outcome.SUCCESS).result(PATIENCE_S)


def test_whatever_fails_in_the_writer_is_said_and_whoever_waits_gets_an_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An empty picture ended its thread: the node said that it records, and nobody got an answer any more."""

    def odd(*_: object) -> None:
        raise RuntimeError("an encoder's own")

    session = RecordingSession(Settings(folder=tmp_path))
    session.start(BEGIN).result(PATIENCE_S)
    monkeypatch.setattr(writing.EpisodeWriter, "write", odd)
    session.put(text(0))
    with pytest.raises(StoppedError, match="RuntimeError: an encoder's own"):
        session.keep(Outcome.SUCCESS).result(PATIENCE_S)
    monkeypatch.undo()
    assert session.start(BEGIN).result(PATIENCE_S).name == "episode-000001.mcap", "the next episode is recorded"
    session.close()

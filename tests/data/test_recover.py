"""A recording that is cut at any byte gives back all up to its last whole chunk, to readers that are not ours."""

from __future__ import annotations

import errno
import os
import resource
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcap.records import ChunkIndex

from tendon.commands.data.recover import command
from tendon.core.errors import ConfigError, InvalidDataError
from tendon.data.reading.files import cut_line, recordings
from tendon.data.reading.recording import McapRecording
from tendon.data.recording import recover as recovering
from tendon.data.recording.episode import EpisodeEnd, Outcome
from tendon.data.recording.recover import recover, recover_folder
from tendon.data.recording.scan import chunk_messages, scan
from tendon.data.recording.writer import EpisodeWriter
from tests.data.samples import BEGIN, both_readers, texts, write
from tests.laws import law_settings

COUNT = 60


@pytest.fixture(scope="module", params=["none", "lz4", "zstd"])
def whole(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("whole") / "a.mcap", texts(COUNT), compression=request.param)


def test_a_whole_recording_is_read_by_others(whole: Path) -> None:
    for found in both_readers(whole):
        assert [(s.topic, s.log_ns, s.data) for s in texts(COUNT)] == found
    recording = McapRecording(whole)
    assert recording.begin == BEGIN
    assert recording.end is not None and not recording.end.bad
    assert scan(whole).whole


@law_settings(30)
@given(share=st.floats(0.0, 1.0))
def test_cut_anywhere_all_whole_chunks_come_back(
    whole: Path, tmp_path_factory: pytest.TempPathFactory, share: float
) -> None:
    content, folder = whole.read_bytes(), tmp_path_factory.mktemp("cut")
    place = round(share * len(content))
    torn = folder / "torn.mcap"
    torn.write_bytes(content[:place])
    try:
        found = recover(torn, folder / "new.mcap")
    except InvalidDataError:
        assert place < 2000, "only the head of a file holds nothing"
        assert not (folder / "new.mcap").exists()
        return
    finally:
        assert torn.read_bytes() == content[:place], "the original stays as it is"
    if found.whole:
        assert place == len(content) and not (folder / "new.mcap").exists()
        return
    chunks = [each for each in scan(whole).chunks if each.chunk_start_offset + each.chunk_length <= place]
    expected = [(s.topic, s.log_ns, s.data) for s in texts(COUNT)][: found.count]
    assert len(found.chunks) == len(chunks)
    for read in both_readers(folder / "new.mcap") if found.count else ():
        assert read == expected
    recording = McapRecording(folder / "new.mcap")
    assert recording.begin == BEGIN
    if found.end is None:
        assert recording.end is not None and recording.end.outcome is Outcome.INCOMPLETE


def test_recovering_again_changes_nothing(whole: Path, tmp_path: Path) -> None:
    content = whole.read_bytes()
    (tmp_path / "torn.mcap").write_bytes(content[: len(content) // 2])
    recover(tmp_path / "torn.mcap")
    once = (tmp_path / "torn.mcap").read_bytes()
    recover(tmp_path / "torn.mcap")
    assert (tmp_path / "torn.mcap").read_bytes() == once


@pytest.mark.parametrize("damage", ["cut", "altered"])
def test_a_recovery_on_a_disk_that_is_full_leaves_no_torn_file(whole: Path, tmp_path: Path, damage: str) -> None:
    torn, content = tmp_path / "torn.mcap", bytearray(whole.read_bytes())
    if damage == "altered":
        content[scan(whole).chunks[0].chunk_start_offset + 60] ^= 1
    torn.write_bytes(content[:-50] if damage == "cut" else content)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (512, before[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            recover(torn, tmp_path / "out.mcap")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert [each.name for each in tmp_path.iterdir()] == ["torn.mcap"]


@law_settings(30)
@given(share=st.floats(0.05, 1.0))
def test_a_recovery_that_is_cut_itself_can_be_done_again(
    whole: Path, tmp_path_factory: pytest.TempPathFactory, share: float
) -> None:
    folder, content = tmp_path_factory.mktemp("twice"), whole.read_bytes()
    torn = folder / "torn.mcap"
    torn.write_bytes(content[: len(content) // 2])
    count = recover(torn).count
    mended = torn.read_bytes()
    kept = scan(torn).chunks[-1]
    least = kept.chunk_start_offset + kept.chunk_length
    torn.write_bytes(mended[: max(least, round(share * len(mended)))])
    assert recover(torn).count == count
    for read in both_readers(torn):
        assert len(read) == count


@pytest.mark.parametrize("bit", range(8))
def test_a_file_that_does_not_begin_with_a_header_is_not_whole(whole: Path, bit: int, tmp_path: Path) -> None:
    """A flipped bit makes it a message of a channel that nobody knows, or what no reader takes."""
    content = bytearray(whole.read_bytes())
    content[8] ^= 1 << bit
    torn, new = tmp_path / "torn.mcap", tmp_path / "new.mcap"
    torn.write_bytes(content)
    found = recover(torn, new)
    assert not found.whole and found.count == COUNT
    for read in both_readers(new):
        assert len(read) == COUNT


@law_settings(60)
@given(data=st.data())
def test_all_chunks_outside_of_what_was_altered_come_back(
    whole: Path, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """A flipped bit, zeros, lost or foreign bytes anywhere, and a cut too: judged by readers that are not ours."""
    content, folder = whole.read_bytes(), tmp_path_factory.mktemp("altered")
    begin = data.draw(st.integers(0, len(content) - 1))
    end = min(len(content), begin + data.draw(st.sampled_from([1, 40, 900])))
    change = data.draw(st.sampled_from(["flip", "zeros", "loss", "insertion"]))
    if change == "flip":
        end, middle = begin + 1, bytes([content[begin] ^ 1 << data.draw(st.integers(0, 7))])
    elif change == "insertion":
        end, middle = begin, b"\x06" * 20
    else:
        middle = bytes(end - begin) if change == "zeros" else b""
    altered = content[:begin] + middle + content[end:]
    cut = data.draw(st.sampled_from([len(altered), round(len(altered) * 0.8)]))
    torn = folder / "torn.mcap"
    torn.write_bytes(altered[:cut])
    shift = len(altered) - len(content)
    chunks = scan(whole).chunks
    kept = [
        each.chunk_start_offset + each.chunk_length <= min(begin, cut)
        or (each.chunk_start_offset >= end and each.chunk_start_offset + each.chunk_length + shift <= cut)
        for each in chunks
    ]
    try:
        found = recover(torn, folder / "new.mcap")
    except InvalidDataError:
        assert not any(kept)
        return
    finally:
        assert torn.read_bytes() == altered[:cut], "the original stays as it is"
    new = torn if found.whole else folder / "new.mcap"  # what was altered may be as it was
    expected = [_messages(whole, chunk) for chunk, whole_still in zip(chunks, kept, strict=True) if whole_still]
    defined = end - begin == 1 or cut == len(altered) or begin >= chunks[0].chunk_start_offset
    for read in both_readers(new) if found.count else ():
        assert set(read) <= {(s.topic, s.log_ns, s.data) for s in texts(COUNT)}, "nothing is made up"
        assert read == sorted(read, key=lambda each: each[1])
        assert not defined or {each for group in expected for each in group} <= set(read)
    assert found.count or not (defined and any(kept))
    recording = McapRecording(new)
    assert recording.end is not None
    if found.lost:
        assert recording.end.bad, "what has lost messages does not pass for a good one"
    assert scan(new).whole


def _messages(path: Path, chunk: ChunkIndex) -> list[tuple[str, int, bytes]]:
    times = {message.log_time for message in chunk_messages(path.read_bytes(), chunk)}
    return [(s.topic, s.log_ns, s.data) for s in texts(COUNT) if s.log_ns in times]


def test_a_damaged_file_of_a_folder_stays_beside_what_is_left_of_it(whole: Path, tmp_path: Path) -> None:
    content = bytearray(whole.read_bytes())
    content[scan(whole).chunks[1].chunk_start_offset + 80] ^= 1
    part = tmp_path / "episode-000000.mcap.part"
    part.write_bytes(content)
    assert recover_folder(tmp_path) == [tmp_path / "episode-000000.mcap"]
    assert (tmp_path / "episode-000000.mcap.damaged").read_bytes() == content
    assert not part.exists()


def test_of_a_disk_that_cannot_be_written_it_is_recovered_elsewhere(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """All was on the other disk, and the command ended in an error that named the damaged one."""

    def refused(source: Path, target: Path) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(source))

    part, out = tmp_path / "a.mcap.part", tmp_path / "b.mcap"
    content = whole.read_bytes()
    part.write_bytes(content[: len(content) // 2])
    real = recovering.rename_durably
    monkeypatch.setattr(recovering, "rename_durably", lambda one, two: (refused if one == part else real)(one, two))
    assert command(part, out) == 0
    assert f"{part} stays as it is: its place cannot be written" in capsys.readouterr().out
    assert scan(out).count and part.exists()


def test_what_is_lost_is_said(whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chunks, content = scan(whole).chunks, bytearray(whole.read_bytes())
    lost = chunks[1]
    content[lost.chunk_start_offset + 80] ^= 1
    file = tmp_path / "a.mcap"
    file.write_bytes(content)
    assert command(file) == 0
    said = capsys.readouterr().out
    missing = len(_messages(whole, lost))
    assert f"{COUNT - missing} messages in {len(chunks) - 1} chunks; a.mcap is damaged within" in said
    after, before = (1e-9 * (t - chunks[0].message_start_time) for t in _around(chunks))
    assert f"bytes {lost.chunk_start_offset} to {chunks[2].chunk_start_offset}" in said
    assert f"between {after:.3f} s and {before:.3f} s" in said and f"{missing} are missing" in said


def test_an_index_that_says_that_it_is_longer_hides_no_chunk_behind_it(whole: Path, tmp_path: Path) -> None:
    content, file = bytearray(whole.read_bytes()), tmp_path / "a.mcap"
    chunk = scan(whole).chunks[-2]
    content[max(chunk.message_index_offsets.values()) + 2] ^= 1  # 256 bytes more
    file.write_bytes(content)
    assert scan(file).count == COUNT


def test_a_file_whose_record_of_its_end_has_another_name_is_not_whole(whole: Path, tmp_path: Path) -> None:
    file = tmp_path / "a.mcap"
    file.write_bytes(whole.read_bytes().replace(b"tendon.end", b"tendon.ene", 1))
    assert not recover(file, tmp_path / "b.mcap").whole
    recording = McapRecording(tmp_path / "b.mcap")
    assert recording.end is not None and recording.end.outcome is Outcome.INCOMPLETE
    assert sum(each.count for each in recording.topics.values()) == COUNT


def test_a_whole_file_is_not_recovered_to_the_same_episode_again(
    whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`tendon data convert` of the folder would take it twice."""
    file, content = tmp_path / "a.mcap", whole.read_bytes()
    file.write_bytes(content)
    assert command(file) == 0
    assert f"{file} is whole, {COUNT} messages" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == [file]
    recovered = tmp_path / "a.recovered.mcap"
    recovered.write_bytes(content)
    assert recordings([tmp_path]) == [file]
    assert recordings([recovered]) == [recovered], "it is meant where it is named"
    file.write_bytes(content[: len(content) // 2])
    assert recordings([tmp_path]) == [file, recovered]
    (tmp_path / "b.mcap.part").write_bytes(content)
    assert command(tmp_path / "b.mcap.part") == 0
    assert scan(tmp_path / "b.recovered.mcap").whole


def test_a_cut_file_is_recovered_once_by_hand_or_by_the_next_recorder(
    whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It stayed, and the recorder gave it back again: one episode was twice in a dataset."""
    content, part = whole.read_bytes(), tmp_path / "episode-000000.mcap.part"
    part.write_bytes(content[: len(content) // 2])
    assert f"1 recording was cut and is left out: `tendon data recover {part}`" in cut_line([tmp_path])
    with pytest.raises(ConfigError, match=r"has no whole recording. 1 recording was cut"):
        recordings([tmp_path])
    assert command(part) == 0
    recovered = tmp_path / "episode-000000.recovered.mcap"
    assert (tmp_path / "episode-000000.mcap.damaged").read_bytes() == content[: len(content) // 2]
    assert scan(recovered).whole and not part.exists() and not cut_line([tmp_path])
    assert recover_folder(tmp_path) == [] and recordings([tmp_path]) == [recovered]
    part.write_bytes(content)
    assert command(part, tmp_path / "again.mcap") == 0
    assert (tmp_path / "again.mcap").read_bytes() == content and not part.exists(), "it is whole there"


def test_what_is_being_written_is_neither_recovered_nor_called_cut(tmp_path: Path) -> None:
    writer = EpisodeWriter(tmp_path / "a.mcap", BEGIN)
    assert not cut_line([tmp_path])
    with pytest.raises(BlockingIOError, match="is being written"):
        command(writer.part)
    assert writer.finish(EpisodeEnd()).exists()
    assert [file.name for file in tmp_path.iterdir()] == ["a.mcap"]


def _around(chunks: list[ChunkIndex]) -> tuple[int, int]:
    return chunks[0].message_end_time, chunks[2].message_start_time


def test_notes_and_a_file_whose_name_is_taken_are_recovered_too(whole: Path, tmp_path: Path) -> None:
    """A second recorder in the folder had the same name first: what it cut short was passed over for ever."""
    begin = replace(BEGIN, roles=replace(BEGIN.roles, others={"note": "/text1"}))
    content = write(tmp_path / "a.mcap", texts(COUNT), begin=begin).read_bytes()
    end = scan(tmp_path / "a.mcap").metadata[-1]
    part = tmp_path / "a.mcap.part"
    part.write_bytes(content[: end.offset])
    assert recover_folder(tmp_path) == [tmp_path / "a-2.mcap"]
    assert (tmp_path / "a.mcap").read_bytes() == content and not part.exists()
    found = McapRecording(tmp_path / "a-2.mcap").end
    assert found is not None and len(found.notes) == COUNT // 2
    assert [note.split("x")[0] for note in found.notes] == [f"number {k} " for k in range(1, COUNT, 2)]


def test_a_folder_is_mended_at_the_start(whole: Path, tmp_path: Path) -> None:
    content = whole.read_bytes()
    (tmp_path / "episode-000000.mcap.part").write_bytes(content[: len(content) // 2])
    (tmp_path / "episode-000001.mcap.part").write_bytes(b"")
    (tmp_path / "episode-000002.mcap.part").write_bytes(b"something else of somebody")
    assert recover_folder(tmp_path) == [tmp_path / "episode-000000.mcap"]
    assert sorted(each.name for each in tmp_path.iterdir()) == ["episode-000000.mcap", "episode-000002.mcap.part"]


def test_what_is_no_recording_is_said_so(tmp_path: Path) -> None:
    file = tmp_path / "a.mcap"
    for content in (b"", b"no such file", b"\x89MCAP0\r\n"):
        file.write_bytes(content)
        with pytest.raises(InvalidDataError, match=r"MCAP|nothing to recover"):
            recover(file, tmp_path / "b.mcap")
        with pytest.raises(InvalidDataError, match="MCAP"):
            McapRecording(file)

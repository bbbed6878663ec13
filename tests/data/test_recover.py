"""A recording that is cut at any byte gives back all up to its last whole chunk, to readers that are not ours."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tendon.core.errors import InvalidDataError
from tendon.data.reading.recording import McapRecording
from tendon.data.recording.episode import Outcome
from tendon.data.recording.recover import recover, recover_folder, scan
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
    chunks = [each for each in scan(whole).chunks if each.chunk_start_offset + each.chunk_length <= place]
    expected = [(s.topic, s.log_ns, s.data) for s in texts(COUNT)][: found.count]
    assert len(found.chunks) == len(chunks)
    for read in both_readers(folder / "new.mcap") if found.count else ():
        assert read == expected
    recording = McapRecording(folder / "new.mcap")
    assert recording.begin == BEGIN
    if not found.ended:
        assert recording.end is not None and recording.end.outcome is Outcome.INCOMPLETE


def test_recovering_again_changes_nothing(whole: Path, tmp_path: Path) -> None:
    content = whole.read_bytes()
    (tmp_path / "torn.mcap").write_bytes(content[: len(content) // 2])
    recover(tmp_path / "torn.mcap")
    once = (tmp_path / "torn.mcap").read_bytes()
    recover(tmp_path / "torn.mcap")
    assert (tmp_path / "torn.mcap").read_bytes() == once


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


@law_settings(30)
@given(data=st.data())
def test_a_flipped_byte_is_an_error_or_costs_what_follows(
    whole: Path, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    content = bytearray(whole.read_bytes())
    content[data.draw(st.integers(8, len(content) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    torn = tmp_path_factory.mktemp("flip") / "torn.mcap"
    torn.write_bytes(content)
    try:
        found = recover(torn, torn.with_name("new.mcap"))
    except InvalidDataError:
        return
    assert found.count <= COUNT


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

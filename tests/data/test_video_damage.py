"""A video of which parts are lost: what is left shows, at each stamp, the picture of that stamp and no other."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import av
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcap.reader import make_reader

from tendon.commands.data.check import command as check
from tendon.core.errors import InvalidDataError
from tendon.data.reading.frames import Frames
from tendon.data.reading.recording import McapRecording
from tendon.data.recording.pictures import SUFFIXES
from tendon.data.recording.recover import recover, recover_folder
from tendon.data.recording.scan import scan
from tendon.data.recording.schemas import VIDEO, typestore
from tendon.data.recording.video import H264, KEY_NS
from tendon.data.recording.writer import Sample
from tests.data.cameras import BEGIN, TOPIC, number_of, stamped
from tests.data.samples import MS, text, write
from tests.laws import law_settings

COUNT, PERIOD_MS = 120, 33
SOUGHT = TOPIC + SUFFIXES["h264"]
BOUND_S = 1.0
"""What a kill may cost."""


def encoded() -> list[Sample]:
    """Four seconds of a camera."""
    transform = H264()
    return [transform(stamped(k, PERIOD_MS)) for k in range(COUNT)]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    samples = [each for k, video in enumerate(encoded()) for each in (video, text(k * PERIOD_MS))]
    return write(tmp_path_factory.mktemp("whole") / "a.mcap", samples, chunk_bytes=4000, begin=BEGIN)


def shown(path: Path) -> tuple[list[int], int]:
    """The stamps of the pictures that can be made, each of which shows its own; and how many cannot."""
    reader, found = Frames(), list[int]()
    for sample in McapRecording(path).samples([SOUGHT]):
        if (frame := reader.read(sample)) is not None:
            assert number_of(frame.pixels) == frame.stamp_ns
            found.append(frame.stamp_ns)
    return found, reader.missing[SOUGHT]


@law_settings(60)
@given(lost=st.sets(st.integers(0, COUNT - 1), min_size=1), swapped=st.sets(st.integers(0, COUNT - 2), max_size=3))
def test_whatever_messages_are_missing_or_in_another_order(lost: set[int], swapped: set[int]) -> None:
    samples, reader = encoded(), Frames()
    for k in swapped:
        samples[k], samples[k + 1] = samples[k + 1], samples[k]
    kept = [sample for k, sample in enumerate(samples) if k not in lost]
    read = [reader.read(sample) for sample in kept]
    assert all(number_of(frame.pixels) == frame.stamp_ns for frame in read if frame)
    assert reader.missing[SOUGHT] == sum(frame is None for frame in read)


@pytest.mark.parametrize("count", [1, 15, 16, 17, 32])
def test_a_gap_costs_no_more_than_up_to_the_next_key_frame(count: int) -> None:
    """Numbers of H.264 itself begin again after 16 pictures: a decoder would not see a gap of so many."""
    samples, reader = encoded(), Frames()
    kept = samples[:40] + samples[40 + count :]
    read = [reader.read(sample) for sample in kept]
    found = [frame.stamp_ns for frame in read if frame]
    assert found[:40] == list(range(40)) and reader.missing[SOUGHT] > 0
    behind = next(stamp for stamp in found if stamp >= 40)
    assert (behind - 40 - count) * PERIOD_MS * MS <= KEY_NS
    assert found[40:] == list(range(behind, COUNT))


@law_settings(40)
@given(share=st.floats(0.0, 1.0))
def test_cut_anywhere_all_that_is_recovered_decodes(
    whole: Path, tmp_path_factory: pytest.TempPathFactory, share: float
) -> None:
    content, out = whole.read_bytes(), tmp_path_factory.mktemp("cut") / "new.mcap"
    place = round(share * len(content))
    torn = out.with_name("torn.mcap")
    torn.write_bytes(content[:place])
    try:
        out = torn if recover(torn, out).whole else out
    except InvalidDataError:
        assert place < 2000, "only the head of a file holds nothing"
        return
    topics = McapRecording(out).topics
    count = topics[SOUGHT].count if SOUGHT in topics else 0
    assert shown(out) == (list(range(count)), 0)
    chunks = [each for each in scan(whole).chunks if each.chunk_start_offset + each.chunk_length <= place]
    assert not chunks or count >= (chunks[-1].message_end_time - 1000 * MS) // (PERIOD_MS * MS)


@law_settings(40)
@given(share=st.floats(0.0, 1.0), bit=st.integers(0, 7))
def test_altered_anywhere_no_wrong_picture_is_shown(
    whole: Path, tmp_path_factory: pytest.TempPathFactory, share: float, bit: int
) -> None:
    content, folder = bytearray(whole.read_bytes()), tmp_path_factory.mktemp("altered")
    content[round(share * (len(content) - 1))] ^= 1 << bit
    altered, out = folder / "altered.mcap", folder / "new.mcap"
    altered.write_bytes(content)
    try:
        shown(altered)
    except InvalidDataError:
        assert not recover(altered, out).whole
        shown(out)


def test_what_a_lost_chunk_costs_is_said(whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content, lost = bytearray(whole.read_bytes()), scan(whole).chunks[3]
    content[lost.chunk_start_offset + 80] ^= 1
    (tmp_path / "torn.mcap").write_bytes(content)
    recover(tmp_path / "torn.mcap", tmp_path / "new.mcap")
    found, missing = shown(tmp_path / "new.mcap")
    assert missing > 0 and found[-1] == COUNT - 1
    assert check([tmp_path / "new.mcap"]) == 1
    said = capsys.readouterr().out
    assert f"{missing} pictures of {SOUGHT} cannot be made: one that they are made from is missing" in said


KILLED = """
import sys, time
from pathlib import Path
from tendon.data.recording.pictures import transform_of
from tendon.data.recording.session import RecordingSession, Settings
from tests.data.cameras import BEGIN, camera, numbered
session = RecordingSession(Settings(folder=Path(sys.argv[1]), transform=transform_of("h264")))
session.start(BEGIN)
for k in range(10000):
    session.put(camera(numbered(k), time.time_ns(), stamp_ns=k))
    if session.progress.messages > 30 and k % 10 == 0:
        print(k, flush=True)
    time.sleep(0.01)
"""


@pytest.mark.parametrize("after_s", [0.0, 0.77])
def test_of_a_recorder_that_is_killed_plain_pyav_decodes_all_but_the_last_second(
    tmp_path: Path, after_s: float
) -> None:
    child = subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path)], stdout=subprocess.PIPE, cwd=Path.cwd())
    assert child.stdout is not None
    said = int(child.stdout.readline())
    time.sleep(BOUND_S + after_s)  # what was put in by then is older than the bound
    child.send_signal(signal.SIGKILL)
    child.wait()
    (path,) = recover_folder(tmp_path)
    decoder, count = av.CodecContext.create("h264", "r"), 0
    with path.open("rb") as file:
        for _, _, message in make_reader(file, validate_crcs=True).iter_messages(SOUGHT):
            video: Any = typestore().deserialize_cdr(message.data, VIDEO)
            (frame,) = decoder.decode(av.Packet(bytes(video.data)))
            assert number_of(frame.to_ndarray(format="rgb24")) == message.publish_time == count
            count += 1
    assert count > said

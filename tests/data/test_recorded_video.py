"""Pictures recorded as H.264: each comes back with its own stamp, to readers that are not ours too."""

from __future__ import annotations

import os
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from av.video.frame import PictureType
from hypothesis import given
from hypothesis import strategies as st
from mcap.reader import make_reader
from rosbags.highlevel import AnyReader

from tendon.commands.data.check import command as check
from tendon.core.errors import ConfigError, InvalidDataError
from tendon.data.convert.from_mcap import Options, convert
from tendon.data.convert.to_mcap import write_recording
from tendon.data.lerobot.check import problems
from tendon.data.lerobot.layout import ACTION, STAMP, STATE
from tendon.data.lerobot.reader import LeRobotDataset
from tendon.data.reading.frames import Frames
from tendon.data.reading.recording import McapRecording
from tendon.data.recording import video
from tendon.data.recording.episode import EpisodeEnd, Outcome
from tendon.data.recording.pictures import RAW, SUFFIXES, transform_of
from tendon.data.recording.schemas import VIDEO
from tendon.data.recording.session import RecordingSession, Settings
from tendon.data.recording.video import H264
from tendon.data.recording.writer import EpisodeWriter
from tendon.data.shown import show_recording
from tests.data.cameras import BEGIN, TOPIC, Pixels, camera, number_of, numbered, stamped
from tests.data.episodes import PROFILE, make_dataset
from tests.data.samples import MS, text
from tests.data.test_video import policies
from tests.laws import law_settings

COUNT = 70
SOUGHT = TOPIC + SUFFIXES["h264"]
LEAST_DB = 36.0
"""At the quantiser of CRF 18 a step is about 5 grey values, and 5 / sqrt(12) of noise are 45 dB. Key frames and 4:2:0,
which has one colour for four pixels, take some of that away from pictures that are smooth; noise would lose more."""


def psnr(one: Pixels, other: Pixels) -> float:
    error = np.mean((one.astype(float) - other) ** 2)
    return float(10 * np.log10(255**2 / max(error, 1e-9)))


def smooth(width: int, height: int, phase: float) -> Pixels:
    y, x = np.mgrid[:height, :width]
    waves = [np.sin(x / 60 + phase), np.cos(y / 50 + phase), np.sin((x + y) / 70)]
    return (128 + 100 * np.stack(waves, axis=-1)).astype(np.uint8)


@law_settings(40)
@given(
    sizes=st.lists(st.tuples(st.integers(1, 70), st.integers(1, 70)), min_size=1, max_size=3),
    encoding=st.sampled_from(["rgb8", "bgr8", "mono8"]),
    stamps=st.lists(st.integers(0, 2**31 * 10**9 - 1), min_size=8, max_size=8),
)
def test_any_size_and_any_stamp_come_back(sizes: list[tuple[int, int]], encoding: str, stamps: list[int]) -> None:
    """The camera changes its size in between, and stamps go where they like."""
    transform, reader = H264(), Frames()
    for k, stamp_ns in enumerate(stamps):
        seen = smooth(*sizes[k * len(sizes) // len(stamps)], 0.1 * k)
        if encoding == "mono8":
            seen = np.repeat(seen[..., :1], 3, axis=-1)
        sent = {"rgb8": seen, "bgr8": seen[..., ::-1], "mono8": seen[..., 0]}[encoding]
        sample = transform(camera(sent, (1000 + 33 * k) * MS, encoding, stamp_ns))
        frame = reader.read(sample)
        assert frame is not None and sample.publish_ns == frame.stamp_ns == stamp_ns
        assert frame.pixels.shape == seen.shape and psnr(frame.pixels, seen) > LEAST_DB


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two episodes of one session, and the second of it: a second recorder of videos, as it were."""
    session = RecordingSession(Settings(folder=tmp_path_factory.mktemp("recorded"), transform=transform_of("h264")))
    for _ in range(2):
        path = session.start(BEGIN).result(20.0)
        for k in range(COUNT):
            session.put(stamped(k))
            session.put(text(k))
        session.keep(Outcome.SUCCESS)
    assert session.close()
    return path


def units(data: bytes) -> list[int]:
    """The types of the NAL units of Annex B."""
    return [each[0] & 31 for each in data.split(b"\x00\x00\x01")[1:]]


def test_mcap_and_plain_pyav_read_it(recorded: Path) -> None:
    decoder, found, key_ns = av.CodecContext.create("h264", "r"), list[int](), 0
    with recorded.open("rb") as file, AnyReader([recorded]) as rosbags:
        for schema, channel, message in make_reader(file, validate_crcs=True).iter_messages(SOUGHT):
            assert schema is not None and (schema.name, schema.encoding) == (VIDEO, "ros2msg")
            assert channel.message_encoding == "cdr" and message.sequence == len(found) + 1
            said: Any = rosbags.deserialize(message.data, VIDEO)
            assert (said.format, said.frame_id) == ("h264", "scene_optical_frame")
            assert said.timestamp.sec * 10**9 + said.timestamp.nanosec == message.publish_time == len(found)
            kinds = units(bytes(said.data))
            assert sum(kind in (1, 5) for kind in kinds) == 1, "one access unit a message"
            if 5 in kinds:
                assert {7, 8} < set(kinds), "a player may begin here"
                key_ns = message.log_time
            assert message.log_time - key_ns <= video.KEY_NS
            (frame,) = decoder.decode(av.Packet(bytes(said.data)))  # at once: no picture waits for the next
            assert PictureType(frame.pict_type) in (PictureType.I, PictureType.P)
            found.append(number_of(frame.to_ndarray(format="rgb24")))
    assert found == list(range(COUNT))
    recording = McapRecording(recorded)
    assert {topic: each.count for topic, each in recording.topics.items()} == {
        SOUGHT: COUNT,
        "/text": COUNT,
    }
    assert recording.end is not None and not recording.end.bad


@pytest.mark.parametrize(
    ("pixels", "encoding"), [(np.zeros((4, 6), np.uint16), "16UC1"), (np.zeros((4, 7), np.uint8), "rgb8")]
)
def test_what_is_no_picture_for_a_video_is_recorded_as_it_came(pixels: Any, encoding: str) -> None:
    for sample in (camera(pixels, MS, encoding), text(1)):
        assert H264()(sample) is sample


def test_a_choice_that_is_not_there_is_one_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="images is 'h265', known: raw, jpeg, h264"):
        transform_of("h265")
    monkeypatch.setattr(video, "ENCODER", "libx999")
    with pytest.raises(ConfigError, match=r"images:=h264 needs libx999.*take images:=jpeg"):
        transform_of("h264")


def test_an_encoder_that_fails_costs_its_picture_and_makes_the_episode_bad(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, calls = video._Encoder.encode, [0]

    def encode(*given: Any) -> bytes:
        calls[0] += 1
        if calls[0] == 5:
            raise av.error.ExternalError(1, "out of luck")
        return real(*given)

    monkeypatch.setattr(video._Encoder, "encode", encode)
    session = RecordingSession(Settings(folder=tmp_path, transform=H264))
    path = session.start(BEGIN).result(20.0)
    for k in range(9):
        session.put(stamped(k))
        session.put(text(k))
    session.keep(Outcome.SUCCESS)
    assert session.close()
    recording, reader = McapRecording(path), Frames()
    assert recording.end is not None and recording.end.bad
    assert f"a picture of {TOPIC}, 128x16, is missing" in recording.end.problem
    read = [reader.read(sample) for sample in recording.samples([SOUGHT])]
    assert [number_of(frame.pixels) for frame in read if frame] == [0, 1, 2, 3, 5, 6, 7, 8] and not reader.missing
    assert recording.topics["/text"].count == 9


def test_nobody_waits_for_an_encoder_that_is_too_slow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, go = video._Encoder.encode, threading.Event()
    monkeypatch.setattr(video._Encoder, "encode", lambda *given: go.wait(20.0) and real(*given))
    session = RecordingSession(Settings(folder=tmp_path, transform=H264, queue_bytes=10 * len(stamped(0).data)))
    path = session.start(BEGIN).result(20.0)
    begin_s = time.monotonic()
    for k in range(50):
        session.put(stamped(k))
    assert time.monotonic() - begin_s < 5.0 and "encoding of pictures is too slow" in session.problem
    go.set()
    session.keep(Outcome.SUCCESS)
    assert session.close()
    recording, reader = McapRecording(path), Frames()
    assert recording.end is not None and recording.end.bad
    read = [reader.read(sample) for sample in recording.samples([SOUGHT])]
    assert [number_of(frame.pixels) for frame in read if frame] == [frame.stamp_ns for frame in read if frame]
    assert len(read) + recording.end.dropped[TOPIC] == 50 and not reader.missing


def test_no_encoder_takes_priority_over_a_robot() -> None:
    before, transform = policies(), H264()
    for k in range(5):
        transform(camera(numbered(k, 640, 480), k * MS))
        assert policies() <= before | {os.SCHED_OTHER}


class Drawn:
    """Takes what is shown."""

    def __init__(self) -> None:
        self.pictures: list[tuple[int, int]] = []

    def image(self, stamp_ns: int, name: str, pixels: Pixels) -> None:
        assert name == "scene"
        self.pictures.append((stamp_ns, number_of(pixels)))


def test_it_is_shown_and_checked(recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    drawn: Any = Drawn()
    show_recording(McapRecording(recorded), drawn)
    assert drawn.pictures == [(k, k) for k in range(COUNT)]
    assert check([recorded]) == 1
    said = capsys.readouterr().out.splitlines()
    assert "0 of 0 observations come out, with pictures that were compressed" in said[0]
    assert "was recorded with joints" in said[1], "it has cameras only"
    assert "1 of 1 episodes have no instruction" in said[2] and len(said) == 3


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two seconds of a robot."""
    folder = tmp_path_factory.mktemp("raw")
    dataset = LeRobotDataset(make_dataset(folder / "set", episodes=1, frames=40))
    write_recording(dataset, 0, PROFILE, folder / "raw.mcap")
    return folder / "raw.mcap"


def encode(raw: Path, path: Path, lost: range = range(0)) -> Path:
    """The same with videos, but for some of each one's messages."""
    recording, transform = McapRecording(raw), H264()
    assert recording.begin is not None
    writer = EpisodeWriter(path, recording.begin)
    for sample in map(transform, recording.samples()):
        if sample.kind != VIDEO or sample.number not in lost:
            writer.write(sample)
    return writer.finish(EpisodeEnd())


def test_a_lost_message_is_a_gap_in_a_dataset(raw: Path, tmp_path: Path) -> None:
    converted = convert(encode(raw, tmp_path / "a.mcap", range(8, 9)), tmp_path / "set", Options(codec="png"))
    whole = convert(encode(raw, tmp_path / "b.mcap"), tmp_path / "whole", Options(codec="png"))
    assert not whole.gaps and converted.gaps == 1 and 1 < whole.frames - converted.frames <= 20
    stamps = [[frame.stamp_ns for frame in LeRobotDataset(tmp_path / name).frames(0)] for name in ("set", "whole")]
    assert set(stamps[0]) < set(stamps[1])


def test_a_dataset_of_it_is_that_of_the_raw_recording_up_to_the_codec(raw: Path, tmp_path: Path) -> None:
    small = encode(raw, tmp_path / "small.mcap")
    assert not any(each.kind == RAW for each in McapRecording(small).topics.values())
    one, two = tmp_path / "one", tmp_path / "two"
    for path, root in ((raw, one), (small, two)):
        assert not convert(path, root, Options(codec="png")).gaps
    exact, found = LeRobotDataset(one), LeRobotDataset(two)
    assert not list(problems(found)) and len(found.rows(0)[STAMP]) == len(exact.rows(0)[STAMP]) > 30
    for name in (STAMP, STATE, ACTION):
        assert np.array_equal(np.stack(exact.rows(0)[name]), np.stack(found.rows(0)[name]))
    for expected, read in zip(exact.frames(0), found.frames(0), strict=True):
        for name, pixels in expected.images.items():
            assert np.abs(read.images[name].astype(int) - pixels).mean() < 4.0, "as of a dataset's own video"


def test_what_is_no_h264_is_said_so() -> None:
    good = H264()(stamped(0))
    with pytest.raises(InvalidDataError, match="is a video in 'h265', must be h264"):
        Frames().read(replace(good, data=good.data.replace(b"h264\0", b"h265\0")))
    slice_at = good.data.index(b"\x00\x00\x01\x65")
    torn = good.data[: slice_at + 12] + bytes(len(good.data) - slice_at - 22) + good.data[-10:]
    with pytest.raises(InvalidDataError, match=r"message 1 is no picture of H\.264"):
        Frames().read(replace(good, data=torn))

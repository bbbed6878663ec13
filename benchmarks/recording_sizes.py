"""What the pictures of one run take as they come, as JPEG and as H.264, and how near to the first the others are.

A raw recording is written again in each way, its pictures at the rate of their stamps. Simulated pictures have flat
colours, which any packer makes small: so also with noise, as of a sensor, of `NOISE` grey values.

Examples:
  tendon run robot:=PROFILE policy:=expert arm:=true record:=true instruction:="put the green cube in the yellow bin"
  python benchmarks/recording_sizes.py outputs/recordings/episode-000000.mcap
  python benchmarks/recording_sizes.py outputs/recordings/episode-000000.mcap --busy --rows /tmp/rows
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import harness
import numpy as np
from harness import Number
from harness.pages import value_text

from tendon.data.reading.frames import Frames
from tendon.data.reading.observations import camera_topics, require_begin
from tendon.data.reading.recording import McapRecording, decode
from tendon.data.recording.episode import EpisodeEnd
from tendon.data.recording.pictures import RAW, SUFFIXES, transform_of
from tendon.data.recording.schemas import typestore
from tendon.data.recording.writer import EpisodeWriter, Sample

NOISE = 2.0
"""Standard deviation of each colour."""


def pictures(recording: McapRecording, noise: float) -> Iterator[Sample]:
    """Yields the raw pictures of a recording, received when they were exposed."""
    rng = np.random.default_rng(0)
    for sample in recording.samples(list(camera_topics(recording))):
        if sample.kind != RAW:
            raise SystemExit(f"{recording.path} was recorded with images:=h264 or jpeg: record it raw")
        data = sample.data
        if noise:
            message = decode(sample)
            noisy = message.data + noise * rng.standard_normal(len(message.data), np.float32)
            data = bytes(
                typestore().serialize_cdr(replace(message, data=noisy.round().clip(0, 255).astype(np.uint8)), RAW)
            )
        yield replace(sample, log_ns=sample.publish_ns, data=data)


def psnr(one: np.ndarray, other: np.ndarray) -> float:
    """Returns how near two pictures are [dB]."""
    error = float(np.mean((one.astype(np.float32) - other) ** 2))
    return 10.0 * float(np.log10(255.0**2 / max(error, 1e-3)))


def measure(recording: McapRecording, way: str, noise: float, path: Path) -> dict[str, harness.Value]:
    """Returns what came of recording the pictures in one way."""
    begin_transform = transform_of(way)
    transform = None if begin_transform is None else begin_transform()
    writer, written_s = EpisodeWriter(path, require_begin(recording)), 0.0
    for sample in pictures(recording, noise):
        begin_s = time.process_time()
        writer.write(sample if transform is None else transform(sample))
        written_s += time.process_time() - begin_s
    begin_s = time.process_time()
    writer.finish(EpisodeEnd())
    written_s += time.process_time() - begin_s
    made, reader, read_s, near = McapRecording(path), Frames(), 0.0, list[float]()
    again = made.samples()
    for sample in pictures(recording, noise):
        begin_s = time.process_time()
        frame = reader.read(next(again))
        read_s += time.process_time() - begin_s
        if frame is None or frame.stamp_ns != sample.publish_ns:
            raise SystemExit(f"{way}: a picture did not come back with its stamp")
        near.append(psnr(frame.pixels, decode(sample).data.reshape(frame.pixels.shape)))
    values: dict[str, harness.Value] = {
        "pictures": Number(len(near)),
        "file": Number(round(path.stat().st_size / 1e6 / made.seconds, 3), "MB/s"),
        "a picture": Number(round(path.stat().st_size / 1e3 / len(near), 1), "kB"),
        "written": Number(round(1e3 * written_s / len(near), 2), "ms/picture"),
        "read": Number(round(1e3 * read_s / len(near), 2), "ms/picture"),
    }
    if way != "raw":
        values |= {
            "PSNR p50": Number(round(float(np.median(near)), 1), "dB"),
            "PSNR min": Number(round(min(near), 1), "dB"),
        }
    return values


def main() -> None:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recording", type=Path, help="with raw pictures")
    harness.add_arguments(parser)
    args = parser.parse_args()
    bench = harness.begin(args, "recording/sizes")
    recording = McapRecording(args.recording)
    for noise in (0.0, NOISE):
        for way in SUFFIXES:
            with tempfile.TemporaryDirectory() as folder:
                values = measure(recording, way, noise, Path(folder) / "again.mcap")
            bench.add({"noise": f"{noise:g}", "images": way}, values)
            print(noise, way, {key: value_text(value) for key, value in values.items()}, flush=True)


if __name__ == "__main__":
    main()

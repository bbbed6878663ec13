"""Find what is wrong with a dataset, or with recordings; a recording's observations are made again and compared.

Of a dataset: versions, counts, times, tasks, and that each video decodes to as many frames as it must. Of a recording:
that it is whole, that nothing was lost, that every message can be read, and that each observation which the policy was
given comes out of the recorded messages again: bit for bit where pictures were recorded as they came.

Examples:
  tendon data check outputs/datasets/mine
  tendon data check outputs/recordings/episode-000003.mcap
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tendon.data.reading.recording import McapRecording


def command(
    places: Annotated[list[Path], typer.Argument(metavar="PLACE...", help="Datasets, MCAP files or folders of them.")],
    fast: Annotated[bool, typer.Option("--fast", help="Decode no videos.")] = False,
) -> int:
    """Prints what is wrong.

    Returns:
        0 when nothing is, else 1.

    Raises:
        ConfigError: a place is neither.
        InvalidDataError: one cannot be read at all.
        MissingDependencyError: the extra `data` is not installed.
    """
    from tendon.data.packages import require_data

    require_data()
    from tendon.data.lerobot.check import problems
    from tendon.data.lerobot.layout import INFO
    from tendon.data.lerobot.reader import LeRobotDataset
    from tendon.data.reading.files import recordings
    from tendon.data.reading.recording import McapRecording

    count = 0
    for place in places:
        if (place / INFO).is_file():
            dataset = LeRobotDataset(place)
            lines = list(problems(dataset, pictures=not fast))
            print(f"{place}: {len(dataset)} episodes, {dataset.info['total_frames']} frames")
            count += _print(lines)
            continue
        for file in recordings([place]):
            count += _print(list(_of_recording(McapRecording(file))))
    return 1 if count else 0


def _print(lines: list[str]) -> int:
    for line in lines:
        print(f"  {line}")
    return len(lines)


def _of_recording(recording: McapRecording) -> Iterator[str]:
    from tendon.data.reading.frames import Frames
    from tendon.data.reading.observations import camera_topics, rebuilt, require_begin
    from tendon.data.reading.recording import decode
    from tendon.data.recording.pictures import RAW
    from tendon.robots.profile import load_profile

    begin, cameras = require_begin(recording), camera_topics(recording)
    exact = all(recording.topics[topic].kind == RAW for topic in cameras)
    same, wrong, missing = 0, 0, 0
    for each in rebuilt(recording, load_profile(begin.robot)):
        same, missing = same + each.same, missing + (each.observation is None)
        wrong += not each.same and each.observation is not None
    total = same + wrong + missing
    made = f"{same} of {total} observations come out bit for bit"
    if not exact:
        made = f"{same + wrong} of {total} observations come out, with pictures that were compressed"
    print(f"{recording.path}: {recording.seconds:.1f} s; {made}")
    if recording.end is None:
        yield "it does not say how it ended"
    elif recording.end.bad:
        yield recording.end.problem or "messages are missing"
    if wrong and exact:
        yield f"{wrong} observations differ from what the policy was given"
    if missing:
        yield f"{missing} observations were made of messages that are not recorded"
    reader = Frames()
    for sample in recording.samples():
        reader.read(sample) if sample.topic in cameras else decode(sample)
    for topic, count in reader.missing.items():
        yield f"{count} pictures of {topic} cannot be made: one that they are made from is missing"

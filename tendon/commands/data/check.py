"""Find what is wrong with a dataset, or with recordings; a recording's observations are made again and compared.

Of a dataset: versions, counts, times, tasks, and that each video decodes to as many frames as it must. Of a recording:
that it is whole, that nothing was lost, that every message can be read, that `tendon data convert` takes it, and that
each observation which the policy was given comes out of the recorded messages again: bit for bit where pictures were
recorded as they came.

Examples:
  tendon data check outputs/datasets/mine
  tendon data check outputs/recordings/episode-000003.mcap
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tendon.core.errors import TendonError

if TYPE_CHECKING:
    from tendon.cli.progress import CountingBar

Told = Callable[[float], None]
"""Gets the share of a place that has been looked at."""


@dataclass
class Report:
    """What is said of a place, what is wrong with it, and how many of its episodes have no instruction."""

    said: str = "cannot be read"
    wrong: list[str] = field(default_factory=list)
    episodes: int = 0
    untold: int = 0


def command(
    places: Annotated[list[Path], typer.Argument(metavar="PLACE...", help="Datasets, MCAP files or folders of them.")],
    fast: Annotated[bool, typer.Option("--fast", help="Decode no videos.")] = False,
) -> int:
    """Prints what is wrong with each place.

    Returns:
        0 when nothing is, else 1.

    Raises:
        ConfigError: a place is neither.
        MissingDependencyError: the extra `data` is not installed.
    """
    from tendon.cli.progress import CountingBar
    from tendon.data.packages import require_data

    require_data()
    from tendon.data.lerobot.layout import INFO
    from tendon.data.reading.files import cut_line, recordings
    from tendon.data.reading.tasks import untold_line

    looks: list[tuple[Path, Callable[[Path, Report, Told], None]]] = []
    for place in places:
        if (place / INFO).is_file():
            looks.append((place, partial(_dataset, pictures=not fast)))
        else:
            looks += [(file, _recording) for file in recordings([place])]
    count = episodes = untold = 0
    with CountingBar("check", len(looks), passing=True) as bar:
        for number, (place, look) in enumerate(looks):
            report = Report()
            bar.reach(number, place.name)
            try:
                look(place, report, partial(_tell, bar, number, place.name))
            except (TendonError, OSError) as error:
                report.wrong.append(str(error))
            print(f"{place}: {report.said}")
            for line in report.wrong:
                print(f"  {line}")
            count, episodes, untold = count + len(report.wrong), episodes + report.episodes, untold + report.untold
        bar.reach(len(looks), "")
    if cut := cut_line(places):
        print(cut)
    if untold:
        print(untold_line(", ".join(map(str, places)), untold, episodes))
    return 1 if count else 0


def _tell(bar: CountingBar, done: int, name: str, share: float) -> None:
    bar.reach(done + share, name)


def _dataset(place: Path, report: Report, told: Told, pictures: bool) -> None:
    from tendon.data.lerobot.check import problems
    from tendon.data.lerobot.reader import LeRobotDataset

    dataset = LeRobotDataset(place)
    report.said = f"{len(dataset)} episodes, {dataset.info['total_frames']} frames"
    report.episodes, report.untold = len(dataset), len(dataset.untold)
    report.wrong += problems(dataset, pictures, lambda count: told(count / len(dataset)))


def _recording(file: Path, report: Report, told: Told) -> None:
    from tendon.data.convert.from_mcap import Options, fitting_frames, profile_of, shape_for
    from tendon.data.reading.frames import Frames
    from tendon.data.reading.observations import camera_topics, rebuilt, require_begin
    from tendon.data.reading.recording import McapRecording, decode
    from tendon.data.reading.tasks import Tasks
    from tendon.data.recording.pictures import RAW
    from tendon.robots.profile import load_profile

    recording, wrong = McapRecording(file), report.wrong
    report.episodes, report.untold = 1, int(not Tasks(recording, require_begin(recording)).told)
    if recording.fault:
        wrong.append(recording.fault)
    cameras = camera_topics(recording)
    exact = all(recording.topics[topic].kind == RAW for topic in cameras)
    same, differing, missing = 0, 0, 0
    for each in rebuilt(recording, load_profile(require_begin(recording).robot)):
        same, missing = same + each.same, missing + (each.observation is None)
        differing += not each.same and each.observation is not None
    told(1 / 3)
    total = same + differing + missing
    made = f"{same} of {total} observations come out bit for bit"
    if not exact:
        made = f"{same + differing} of {total} observations come out, with pictures that were compressed"
    report.said = f"{recording.seconds:.1f} s; {made}"
    if differing and exact:
        wrong.append(f"{differing} observations differ from what the policy was given")
    if missing:
        wrong.append(f"{missing} observations were made of messages that are not recorded")
    reader = Frames()
    for sample in recording.samples():
        reader.read(sample) if sample.topic in cameras else decode(sample)
    for topic, count in reader.missing.items():
        wrong.append(f"{count} pictures of {topic} cannot be made: one that they are made from is missing")
    told(2 / 3)
    profile = profile_of(recording)
    for _ in fitting_frames(recording, profile, shape_for(recording, profile, Options()), proposed=False):
        pass

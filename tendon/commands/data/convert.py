"""Convert recordings to a LeRobot dataset, or a dataset back to recordings.

Recordings are appended to the dataset at --out one by one; after each it is whole on the disk. One that is in it
already is passed over, so that a cut run goes on where it was, and new recordings are added later by the same line.

--instruction says what was done where a recording does not: `tendon policy train` needs it.

The action of a frame is what was executed; --proposed adds what the policy or the operator wanted, as `proposed`.

Examples:
  tendon data convert outputs/recordings --out outputs/datasets/mine
  tendon data convert outputs/recordings --out outputs/datasets/mine --jobs 4
  tendon data convert outputs/recordings --out outputs/datasets/mine --instruction "put the red cube in the blue bowl"
  tendon data convert outputs/recordings/episode-000003.mcap --out outputs/datasets/mine --codec av1 --proposed
  tendon data convert outputs/datasets/mine --out outputs/again --to mcap
  tendon data convert outputs/datasets/mine --out outputs/for_gr00t --to v2.1
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tendon.core.errors import ConfigError, TendonError

if TYPE_CHECKING:
    from tendon.data.convert.from_mcap import Options

CODEC = "h264"
TARGETS = ("v3.0", "v2.1", "mcap")


def command(
    sources: Annotated[
        list[Path], typer.Argument(metavar="SOURCE...", help="MCAP files, folders of them, or one dataset.")
    ],
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Dataset, or folder of the recordings, to write.")],
    to: Annotated[
        str, typer.Option(help="v3.0 and v2.1 are LeRobot's; mcap turns a dataset into recordings.")
    ] = "v3.0",
    fps: Annotated[int, typer.Option(min=0, help="Frames a second; 0 takes the slowest camera's.")] = 0,
    codec: Annotated[str, typer.Option(help="h264, av1 (smaller, slower), or png (no loss).")] = CODEC,
    proposed: Annotated[bool, typer.Option("--proposed", help="Keep what was proposed, too.")] = False,
    bad: Annotated[bool, typer.Option("--bad", help="Take recordings with missing messages, too.")] = False,
    instruction: Annotated[
        str, typer.Option(metavar="WORDS", help="What was done, for recordings that have no instruction.")
    ] = "",
    jobs: Annotated[int, typer.Option(min=1, help="Processes that encode recordings.")] = 1,
) -> int:
    """Converts.

    Returns:
        0; 1 when some of several recordings were refused.

    Raises:
        ConfigError: an option is wrong, or there is nothing to convert.
        InvalidDataError: the only source cannot be converted.
        MissingDependencyError: the extra `data` is not installed.
    """
    from tendon.cli.outputs import require_folder
    from tendon.data.packages import require_data

    require_data()
    if to not in TARGETS:
        raise ConfigError(f"--to is {to}, must be one of {', '.join(TARGETS)}")
    if to != "v3.0":
        if len(sources) != 1:
            raise ConfigError(f"--to {to} takes one dataset, not {len(sources)} sources")
        if fps or proposed or bad or instruction or codec != CODEC:
            raise ConfigError(
                f"--to {to} takes a dataset as it is: leave out --fps, --codec, --proposed, --bad, --instruction"
            )
        return _of_dataset(sources[0], out, to)
    from tendon.data.convert.from_mcap import Options
    from tendon.data.lerobot.writer import require_codec
    from tendon.data.reading.files import cut_line, recordings

    require_codec(codec)
    options = Options(fps=fps, codec=codec, proposed=proposed, bad=bad, instruction=instruction)
    files = recordings(sources)
    if cut := cut_line(sources):
        print(cut)
    new = not out.exists()
    require_folder(out)
    try:
        return _to_dataset(files, out, options, jobs)
    finally:
        if new:
            with suppress(OSError):  # it holds something
                out.rmdir()


def _to_dataset(files: list[Path], out: Path, options: Options, jobs: int) -> int:
    from tendon.cli.progress import CountingBar
    from tendon.data.convert.parallel import convert_all

    refused, made, frames, gaps, known, recalibrated = list[str](), 0, 0, 0, 0, 0
    with CountingBar("convert", len(files)) as bar:
        done = 0

        def told(share: float) -> None:
            bar.reach(done + share, f"{frames} frames")

        for done, (file, found) in enumerate(convert_all(files, out, options, jobs, told), start=1):
            if isinstance(found, TendonError):
                if len(files) == 1:
                    raise found
                refused.append(str(found) if str(file) in str(found) else f"{file}: {found}")
                bar.reach(done, f"{len(refused)} refused")
                continue
            made, known = made + (found.episode is not None), known + (found.episode is None)
            recalibrated += found.recalibrated
            frames, gaps = frames + found.frames, gaps + found.gaps
            bar.reach(done, f"{frames} frames")
    for line in refused:
        print(f"refused: {line}")
    said = f"; {known} were in it already" if known else ""
    missing = f"; frames are missing in {gaps} places: `tendon data quality` shows them" if gaps else ""
    print(f"{out}: {made} episodes with {frames} frames added{said}{missing}")
    if recalibrated:
        print(
            f"{recalibrated} of them were recorded with another calibration than the robot has now: their joints are "
            "as today's says, which is right unless its encoders were set anew in between"
        )
    _tell_faults(out)
    return 1 if refused else 0


def _tell_faults(out: Path) -> None:
    """Says which episodes are failures, which only Tendon's own training knows to leave out, and how many untold."""
    from tendon.data.lerobot.layout import INFO
    from tendon.data.lerobot.reader import LeRobotDataset
    from tendon.data.reading.tasks import untold_line
    from tendon.data.recording.episode import Outcome

    if not (out / INFO).is_file():
        return
    dataset = LeRobotDataset(out)
    rows = dataset.episodes
    failed = [str(number) for number, row in enumerate(rows) if row.get("outcome") == Outcome.FAILURE.value]
    if failed:
        print(
            f"{len(failed)} of {len(rows)} episodes are failures, which `tendon policy train` leaves out and other "
            f"trainers learn from; without them: tendon data delete {out} --episodes {','.join(failed)} --out NEW"
        )
    if dataset.untold:
        print(untold_line(str(out), len(dataset.untold), len(rows)))


def _of_dataset(source: Path, out: Path, to: str) -> int:
    from tendon.cli.outputs import require_folder
    from tendon.data.lerobot.layout import require_outside
    from tendon.data.lerobot.reader import LeRobotDataset

    dataset = LeRobotDataset(source)
    require_outside(out)
    require_folder(out)
    if to == "v2.1":
        from tendon.data.convert.v21 import write_v21

        print(f"{out}: {write_v21(dataset, out)} episodes as v2.1, with modality.json")
        return 0
    from rich.progress import track

    from tendon.data.convert.to_mcap import write_recording
    from tendon.robots.profile import load_profile

    profile = load_profile(dataset.shape.robot)
    for episode in track(range(len(dataset)), "convert"):
        write_recording(dataset, episode, profile, out / f"episode-{episode:06d}.mcap")
    print(f"{out}: {len(dataset)} recordings")
    return 0

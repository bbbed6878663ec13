"""Draw an episode as a picture: cameras, joints measured and commanded, and when frames came.

Examples:
  tendon data plot outputs/recordings/episode-000003.mcap
  tendon data plot outputs/datasets/mine --episode 4 --out four.png
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tendon.core.errors import ConfigError


def command(
    source: Annotated[Path, typer.Argument(metavar="SOURCE", help="MCAP file, or dataset.")],
    episode: Annotated[int, typer.Option(help="Of a dataset.")] = 0,
    out: Annotated[Path, typer.Option(metavar="FILE", help="The picture, PNG.")] = Path("outputs/episode.png"),
) -> int:
    """Writes the picture.

    Raises:
        ConfigError: there is no such episode, or the picture cannot be written.
        InvalidDataError: the source cannot be read.
        MissingDependencyError: the extras `data` and `sim` are not installed.
    """
    from tendon.cli.outputs import require_file, require_ours
    from tendon.data.packages import require_data

    require_data()
    require_file(out, suffix=".png")
    from tendon.data.lerobot.reader import LeRobotDataset
    from tendon.data.plot import SOFTWARE, draw, of_dataset, of_recording
    from tendon.data.reading.recording import McapRecording

    require_ours(out, "--out", SOFTWARE.encode())
    if source.is_dir():
        dataset = LeRobotDataset(source)
        if not 0 <= episode < len(dataset):
            raise ConfigError(f"there is no episode {episode}: {source} has {len(dataset)}")
        found = of_dataset(dataset, episode)
    else:
        found = of_recording(McapRecording(source))
    if not len(found.stamps_ns):
        raise ConfigError(f"{source} has no frame after its first command: there is nothing to draw")
    draw(found, out)
    print(f"{out}: {len(found.stamps_ns)} frames")
    return 0

"""Give back what is whole of a recording that a crash, a full disk or a loss of power has cut.

All up to the last whole chunk, half a second before the cut, goes to a new file with its index; the cut file stays
as it is. The recorder does the same for its own folder when it starts.

Examples:
  tendon data recover outputs/recordings/episode-000003.mcap.part
  tendon data recover cut.mcap --out whole.mcap
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="MCAP file, cut or not.")],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The new file; by default NAME.recovered.mcap beside it.")
    ] = None,
) -> int:
    """Writes the new file.

    Raises:
        InvalidDataError: it is no MCAP file, or holds nothing.
        OSError: it cannot be read, or the new one is there already.
        MissingDependencyError: the extra `data` is not installed.
    """
    from tendon.data.packages import require_data

    require_data()
    from tendon.data.recording.recover import recover

    name = file.name.removesuffix(".part").removesuffix(".mcap")
    target = out or file.with_name(f"{name}.recovered.mcap")
    found = recover(file, target)
    left = found.size - found.place
    state = "whole already" if found.whole else f"cut: its last {left} bytes are left out"
    print(f"{target}: {found.count} messages in {len(found.chunks)} chunks; {file.name} is {state}")
    return 0

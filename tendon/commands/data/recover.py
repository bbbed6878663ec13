"""Give back what is whole of a recording that a crash, a full disk, a loss of power or a bad disk has cut or altered.

All whole chunks, before and behind what is damaged, go to a new file with its index; what is lost is listed, in bytes
and time. The damaged file stays as it is; one called .part becomes NAME.damaged, so that no recorder recovers it again.
The recorder does the same for its own folder when it starts.

Examples:
  tendon data recover outputs/recordings/episode-000003.mcap.part
  tendon data recover cut.mcap --out whole.mcap
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from tendon.data.recording.scan import Scan


def command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="MCAP file, cut or not.")],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The new file; by default NAME.recovered.mcap beside it.")
    ] = None,
) -> int:
    """Writes the new file, unless the old one is whole.

    Raises:
        InvalidDataError: it is no MCAP file, or holds nothing.
        BlockingIOError: it is being written.
        OSError: it cannot be read, or the new one is there already.
        MissingDependencyError: the extra `data` is not installed.
    """
    from tendon.data.packages import require_data

    require_data()
    from tendon.data.recording.episode import BEGIN
    from tendon.data.recording.recover import RECOVERED, recover, recover_part
    from tendon.data.recording.writer import PART

    name = file.name.removesuffix(PART).removesuffix(".mcap")
    target = out or file.with_name(f"{name}{RECOVERED}.mcap")
    found = (recover_part if file.name.endswith(PART) else recover)(file, target)
    if found.whole and not file.name.endswith(PART):
        print(f"{file} is whole, {found.count} messages: there is nothing to recover, and nothing was written")
        return 0
    state = "whole already" if found.whole else "damaged within" if found.within else "cut"
    print(f"{target}: {found.count} messages in {len(found.chunks)} chunks; {file.name} is {state}")
    for line in _losses(found):
        print(line)
    if not any(each.name == BEGIN for each in found.metadata):
        print("lost: what it says of itself (robot, topics); convert and check take no recording without that")
    if file.name.endswith(PART) and file.exists():
        print(f"{file} stays as it is: its place cannot be written")
    return 0


def _losses(found: Scan) -> Iterator[str]:
    """Yields what is lost, in seconds after the first message that is left."""
    first = found.times[0] if found.times else 0
    for loss in found.losses:
        begin = "the begin" if loss.after_ns is None else f"{(loss.after_ns - first) * 1e-9:.3f} s"
        end = "the end" if loss.before_ns is None else f"{(loss.before_ns - first) * 1e-9:.3f} s"
        what = "index only, no messages" if loss.index_only else f"what was recorded between {begin} and {end}"
        place = f"bytes {loss.begin} to {loss.end} ({loss.end - loss.begin})"
        yield f"lost: {place}: {what}"
    if found.orphans:
        yield f"lost: {found.orphans} messages, since nothing is left that says of which topic they are"
    if found.expected is not None and not found.whole:
        yield f"the index counted {found.expected} messages: {found.expected - found.count} are missing"

"""Writes docs/results and its pictures from rows and claims; nobody edits those pages by hand. `make results` runs it.

Rows that were measured on another machine (`--rows FOLDER` there) are taken over first with `--take FOLDER`.

Examples:
  python benchmarks/write_results.py
  python benchmarks/write_results.py --take rows-of-the-gpu-machine
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from harness.claims import find_table, read_pages
from harness.pages import PICTURES, write_pages
from harness.rows import FOLDER, ROWS, RowError, read_rows, replace_row, said_to_stay

from tendon.core.errors import ConfigError


def take(source: Path) -> int:
    """Takes over the rows of a folder and returns how many.

    Raises:
        ConfigError: there are none, or a file of them is damaged or belongs to no table.
    """
    pages, taken = read_pages(), 0
    claims = [path.relative_to(source).with_suffix("").as_posix() for path in sorted(source.rglob("*.jsonl"))]
    if not claims:
        raise RowError(f"no rows in {source}: expected files such as {source}/engines/policies.jsonl")
    for claim in claims:
        table = find_table(claim, pages)
        for row in read_rows(claim, source):
            if (stays := replace_row(row, ROWS, simulated=table.simulated)) is None:
                taken += 1
            else:
                print(said_to_stay(stays), file=sys.stderr)
    return taken


def main() -> None:
    """Writes them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder of the pages (docs/results)")
    parser.add_argument("--pictures", type=Path, default=PICTURES, help="their folder (docs/images/results)")
    parser.add_argument("--take", type=Path, metavar="FOLDER", help="rows of another machine, taken over first")
    args = parser.parse_args()
    try:
        if args.take:
            print(f"took {take(args.take)} rows from {args.take}")
        paths = write_pages(args.out, pictures=args.pictures)
    except ConfigError as error:
        sys.exit(f"error: {error}")
    print(f"wrote {len(paths)} pages to {args.out}")


if __name__ == "__main__":
    main()

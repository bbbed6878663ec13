"""Write a board to print at its true size, with a ruler to check the print.

Examples:
  tendon calibrate board board.pdf
  tendon calibrate board large.pdf --columns 9 --rows 6 --square-mm 40 --marker-mm 30 --paper a2
  tendon calibrate board tags.pdf --kind aprilgrid --dictionary APRILTAG_36H11 --square-mm 30 --marker-mm 24
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tendon.cli.board_options import (
    ColumnsOption,
    DictionaryOption,
    KindOption,
    MarkerOption,
    RowsOption,
    SquareOption,
    make_board,
)


def command(
    out: Annotated[Path, typer.Argument(metavar="FILE", help="A .pdf to write.")],
    kind: KindOption = "charuco",
    columns: ColumnsOption = 7,
    rows: RowsOption = 5,
    square_mm: SquareOption = 30.0,
    marker_mm: MarkerOption = 22.0,
    dictionary: DictionaryOption = "5X5_100",
    paper: Annotated[str, typer.Option(help="a4, a3, a2, a1 or letter; by default the smallest that fits.")] = "",
) -> int:
    """Writes it.

    Raises:
        ConfigError: the board cannot be, or is larger than the paper.
    """
    from tendon.calibration.boards.pdf import write_pdf
    from tendon.cli.outputs import require_file

    board = make_board(kind, columns, rows, square_mm, marker_mm, dictionary)
    require_file(out, "FILE")
    name, kept = write_pdf(board, out, paper)
    print(f"{out}: {name}, print at 100 % on something flat and stiff; the ruler must be 100 mm long")
    if kept is not None:
        print(f"the one before: {kept}")
    return 0

"""Options that say which calibration board there is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from tendon.calibration.boards.board import Board

KindOption = Annotated[str, typer.Option(help="charuco or aprilgrid.")]
ColumnsOption = Annotated[int, typer.Option(min=3, max=40, help="Squares, or tags, along its width.")]
RowsOption = Annotated[int, typer.Option(min=3, max=40, help="Along its height.")]
SquareOption = Annotated[float, typer.Option(help="Side of a square, or from tag to tag [mm]: as measured.")]
MarkerOption = Annotated[float, typer.Option(help="Side of a marker [mm].")]
DictionaryOption = Annotated[str, typer.Option(help="Of its markers, one of OpenCV's.")]


def make_board(kind: str, columns: int, rows: int, square_mm: float, marker_mm: float, dictionary: str) -> Board:
    """Returns the board.

    Raises:
        ConfigError: there is no such board.
    """
    from tendon.calibration.boards.board import Board

    return Board(
        kind=kind,  # type: ignore[arg-type]
        columns=columns,
        rows=rows,
        square_m=square_mm / 1000,
        marker_m=marker_mm / 1000,
        dictionary=dictionary,
    )

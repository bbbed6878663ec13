"""A board as a thing in a simulator: a white plate, and a mesh of what is black."""

from __future__ import annotations

from pathlib import Path

from tendon.calibration.boards.board import Board

THICK_M = 0.0004
"""Of what is black, above the plate: less than a pixel of any camera."""
BOX = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))


def write_black(board: Board, file: Path) -> None:
    """Writes what is black on a board as an OBJ file [m], in the board's frame.

    Its face is z = 0; more than that is behind.
    """
    lines, count = [], 0
    for x, y, width, height in board.black():
        lines += [
            f"v {x + dx * width:.7f} {y + dy * height:.7f} {z:.7f}"
            for dx in (0, 1)
            for dy in (0, 1)
            for z in (0, THICK_M)
        ]
        lines += [
            f"f {a + count + 1} {b + count + 1} {c + count + 1}"
            for face in BOX
            for a, b, c in ((face[0], face[1], face[2]), (face[0], face[2], face[3]))
        ]
        count += 8
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")

"""A board to print at its true size, with a ruler to check the print."""

from __future__ import annotations

from pathlib import Path

from tendon.calibration.boards.board import QUIET_SHARE, Board
from tendon.core.errors import ConfigError
from tendon.core.files import replace_file, set_aside

POINTS_PER_M = 72 / 0.0254
PAPERS_M = {
    "a4": (0.210, 0.297),
    "a3": (0.297, 0.420),
    "a2": (0.420, 0.594),
    "a1": (0.594, 0.841),
    "letter": (0.2159, 0.2794),
}
RULER_M = 0.1
EDGE_M = 0.008
"""Which no printer reaches."""
FOOT_M = 0.028
"""For ruler and words, below the board."""


def paper_for(board: Board, paper: str = "") -> tuple[str, float, float]:
    """Returns name, width and height [m] of a paper, turned so that the board fits; the smallest one without a name.

    Raises:
        ConfigError: there is no such paper, or the board is larger than it.
    """
    if paper and paper not in PAPERS_M:
        raise ConfigError(f"paper is {paper}, known: {', '.join(PAPERS_M)}")
    quiet = QUIET_SHARE * board.square_m
    wide, high = (side + 2 * max(quiet, EDGE_M) for side in board.size_m)
    high += FOOT_M
    for name in (paper,) if paper else ("a4", "a3", "a2", "a1"):
        for width, height in (PAPERS_M[name], PAPERS_M[name][::-1]):
            if wide <= width and high <= height:
                return name, width, height
    raise ConfigError(
        f"board {board.name} with ruler is {1000 * wide:.0f} x {1000 * high:.0f} mm, more than "
        f"{paper or 'A1'} has: fewer or smaller squares, or a larger paper"
    )


def write_pdf(board: Board, file: Path, paper: str = "") -> tuple[str, Path | None]:
    """Writes a page with the board as rectangles, not as pixels.

    Returns:
        The name of its paper; where a file that was there is kept, `None` without one.

    Raises:
        ConfigError: see `paper_for`; or the file is no .pdf, or cannot be written.
    """
    if file.suffix.lower() != ".pdf":
        raise ConfigError(f"{file} must end with .pdf: a printer takes it by that")
    name, width, height = paper_for(board, paper)
    wide, high = board.size_m
    left, top = (width - wide) / 2, (height - FOOT_M - high) / 2
    drawn = ["0 g"]
    for x, y, across, down in board.black():
        drawn.append(_rectangle(left + x, height - top - y - down, across, down))
    foot = 0.018
    drawn += [
        _text(
            left,
            foot + 0.003,
            8,
            f"{board.name}: {board.kind} {board.columns} x {board.rows}, {board.dictionary}, squares "
            f"{1000 * board.square_m:g} mm, markers {1000 * board.marker_m:g} mm",
        ),
        _text(
            left,
            foot - 0.0005,
            8,
            "Print at 100 % (no fit to page). This ruler must be 100 mm long; else measure a square and give its size.",
        ),
    ]
    for k in range(11):
        drawn.append(_rectangle(left + k * RULER_M / 10, foot - 0.009, 0.0002, 0.006 if k % 5 == 0 else 0.003))
    drawn.append(_rectangle(left, foot - 0.009, RULER_M + 0.0002, 0.0002))
    drawn.append(_text(left + RULER_M + 0.003, foot - 0.009, 8, "100 mm"))
    try:
        kept = set_aside(file)
        replace_file(file, _page(width, height, "\n".join(drawn)))
    except OSError as error:
        raise ConfigError(f"{file} cannot be written: {error.strerror}; choose another place") from error
    return name, kept


def _rectangle(x: float, y: float, width: float, height: float) -> str:
    values = " ".join(f"{value * POINTS_PER_M:.4f}" for value in (x, y, width, height))
    return f"{values} re f"


def _text(x: float, y: float, size: int, text: str) -> str:
    safe = text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
    return f"BT /F1 {size} Tf {x * POINTS_PER_M:.3f} {y * POINTS_PER_M:.3f} Td ({safe}) Tj ET"


def _page(width: float, height: float, drawn: str) -> bytes:
    """Returns a PDF of one page (ISO 32000: catalogue, pages, page, content, font, and where each of them begins)."""
    box = f"[0 0 {width * POINTS_PER_M:.3f} {height * POINTS_PER_M:.3f}]"
    objects = [
        "<< /Type /Catalog /Pages 2 0 R /ViewerPreferences << /PrintScaling /None >> >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        f"<< /Type /Page /Parent 2 0 R /MediaBox {box} /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
        f"<< /Length {len(drawn)} >>\nstream\n{drawn}\nendstream",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    body, places = "%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        places.append(len(body))
        body += f"{number} 0 obj\n{content}\nendobj\n"
    begin = len(body)
    body += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n" + "".join(
        f"{place:010d} 00000 n \n" for place in places
    )
    body += f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{begin}\n%%EOF\n"
    return body.encode("latin-1")

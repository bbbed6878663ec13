"""Find a lens from pictures of a board, and write its `camera_info`.

Twenty pictures, the board near and far, tilted by 30 deg and more, in every corner of the picture.

Examples:
  tendon calibrate intrinsics pictures --name wrist --out wrist.yaml
  tendon calibrate intrinsics pictures --name scene --lens fisheye --out scene.yaml --square-mm 29.8
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
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Of pictures, .png or .jpg.")],
    out: Annotated[Path, typer.Option(metavar="FILE", help="A .yaml to write.")],
    name: Annotated[str, typer.Option(help="Of the camera.")] = "camera",
    lens: Annotated[str, typer.Option(help="pinhole or fisheye.")] = "pinhole",
    most: Annotated[int, typer.Option(min=4, help="Views that are used: those that tell most.")] = 40,
    anyway: Annotated[bool, typer.Option("--anyway", help="Write intrinsics that are not good, too.")] = False,
    kind: KindOption = "charuco",
    columns: ColumnsOption = 7,
    rows: RowsOption = 5,
    square_mm: SquareOption = 30.0,
    marker_mm: MarkerOption = 22.0,
    dictionary: DictionaryOption = "5X5_100",
) -> int:
    """Writes them and says how sure they are; returns 1 when they are not good.

    Raises:
        TendonError: a picture cannot be read, or they do not tell the lens.
    """
    from tendon.calibration.boards.detect import detect
    from tendon.calibration.cameras.camera_info import write_camera_info
    from tendon.calibration.cameras.doubts import doubts
    from tendon.calibration.cameras.intrinsics import calibrate_intrinsics, select_views
    from tendon.calibration.cameras.model import DISTORTIONS
    from tendon.calibration.left_out import LeftOut
    from tendon.calibration.pictures import read_pictures
    from tendon.cli.outputs import require_file
    from tendon.cli.progress import CountingBar
    from tendon.core.errors import CalibrationError, ConfigError

    if lens not in DISTORTIONS:
        raise ConfigError(f"--lens is {lens}, must be pinhole or fisheye")
    board = make_board(kind, columns, rows, square_mm, marker_mm, dictionary)
    require_file(out)
    pictures = read_pictures(folder)
    views, used, left_out = [], [], LeftOut()
    with CountingBar("pictures", len(pictures)) as bar:
        for file, pixels in pictures.items():
            try:
                views.append(detect(board, pixels, file))
                used.append(file)
            except CalibrationError as error:
                left_out.add(file, str(error))
            bar.advance(1, f"{len(views)} show the board")
    if not views:
        raise CalibrationError(f"no picture in {folder} shows the board: {left_out.usual}")
    for line in left_out.lines():
        print(line)
    found = calibrate_intrinsics(board, views, lens)  # type: ignore[arg-type]
    if len(views) > most:
        chosen = sorted(select_views(board, views, found.model, most))
        views, used = [views[k] for k in chosen], [used[k] for k in chosen]
        found = calibrate_intrinsics(board, views, lens, found.model)  # type: ignore[arg-type]
    for file, rms in zip(used, found.view_rms_px, strict=True):
        print(f"  {file:40s} {rms:.3f} px")
    print("each with its standard deviation:")
    for key, value, spread in zip(found.model.names, found.model.values, found.deviation, strict=True):
        print(f"{key:3s} {value:12.5f} +- {spread:.5f}")
    print(
        f"{found.rms_px:.3f} px over {found.corners} corners, {found.rejected} left out; "
        f"{100 * found.coverage:.0f} % of the picture has corners"
        + ("" if found.coverage > 0.7 else ": show the board in the corners too, the lens bends most there")
    )
    wrong = doubts(board, views, used, found)
    for sentence in wrong:
        print(f"not good: {sentence}")
    if wrong and not anyway:
        print("nothing was written")
        return 1
    kept = write_camera_info(found.model, name, out, found.covariance)
    print(f"{out}" + (f" (the one before: {kept})" if kept else ""))
    return int(bool(wrong))

"""Pictures in a folder."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt

from tendon.core.errors import ConfigError

SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp")


def read_pictures(folder: Path) -> dict[str, npt.NDArray[np.uint8]]:
    """Returns (height, width, 3) RGB by file name, in its order.

    Raises:
        ConfigError: there is no such folder, no picture in it, or one cannot be read.
    """
    if not folder.is_dir():
        raise ConfigError(f"no folder {folder}: give the one with the pictures")
    found = {}
    for file in sorted(folder.iterdir()):
        if file.suffix.lower() in SUFFIXES:
            read = cv2.imread(str(file), cv2.IMREAD_COLOR)
            if read is None:
                raise ConfigError(f"{file} is no picture that can be read: delete it")
            found[file.name] = np.asarray(cv2.cvtColor(read, cv2.COLOR_BGR2RGB), dtype=np.uint8)
    if not found:
        raise ConfigError(f"{folder} has no picture ({', '.join(SUFFIXES)})")
    return found

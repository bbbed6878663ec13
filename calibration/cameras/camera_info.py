"""`camera_info` YAML, as ROS 2's camera drivers and image pipelines read it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import yaml

from tendon.calibration.cameras.model import ROS_NAMES, CameraModel
from tendon.core.errors import ConfigError
from tendon.core.files import replace_file, set_aside
from tendon.core.types import Array, freeze
from tendon.core.yaml_text import parse_yaml

COVARIANCE = "covariance"


def write_camera_info(model: CameraModel, name: str, file: Path, covariance: Array | None = None) -> Path | None:
    """Writes intrinsics. A file that was there is kept as NAME.before.yaml; returns where, `None` without one.

    Args:
        model: the intrinsics.
        name: of the camera.
        file: to write.
        covariance: of `model.values`, under a key of its own that ROS does not look at.

    Raises:
        ConfigError: it cannot be written.
    """
    matrix = model.matrix
    projection = np.hstack([matrix, np.zeros((3, 1))])
    values: dict[str, Any] = {
        "image_width": model.width,
        "image_height": model.height,
        "camera_name": name,
        "camera_matrix": _matrix(matrix),
        "distortion_model": ROS_NAMES[model.lens],
        "distortion_coefficients": _matrix(model.distortion[None]),
        "rectification_matrix": _matrix(np.eye(3)),
        "projection_matrix": _matrix(projection),
    }
    if covariance is not None:
        values[COVARIANCE] = [[float(f"{value:.9g}") for value in row] for row in covariance]
    try:
        kept = set_aside(file)
        replace_file(file, yaml.safe_dump(values, sort_keys=False).encode())
    except OSError as error:
        raise ConfigError(f"{file} cannot be written: {error.strerror}; choose another place") from error
    return kept


def load_camera_info(file: Path) -> tuple[CameraModel, Array | None]:
    """Returns the intrinsics of a file and their covariance, `None` where it has none.

    Raises:
        ConfigError: it cannot be read, or is none.
    """
    try:
        values = parse_yaml(file.read_bytes(), str(file))
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror}; `tendon calibrate intrinsics` makes it") from error
    try:
        lens = {ros: lens for lens, ros in ROS_NAMES.items()}[values["distortion_model"]]
        matrix = np.array(values["camera_matrix"]["data"], dtype=np.float64).reshape(3, 3)
        bent = np.array(values["distortion_coefficients"]["data"], dtype=np.float64)
        model = CameraModel(
            lens=lens,  # type: ignore[arg-type]
            width=int(values["image_width"]),
            height=int(values["image_height"]),
            focal=matrix[[0, 1], [0, 1]],
            centre=matrix[[0, 1], [2, 2]],
            distortion=bent,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ConfigError(
            f"{file} is no camera_info of a plumb_bob or equidistant camera ({type(error).__name__}: {error}); "
            "`tendon calibrate intrinsics` makes one"
        ) from error
    if values.get(COVARIANCE) is None:
        return model, None
    count = len(model.values)
    try:
        return model, freeze(COVARIANCE, values[COVARIANCE], (count, count))
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{file} {COVARIANCE} must be {count} x {count} numbers: {error}") from error


def _matrix(values: np.ndarray) -> dict[str, Any]:
    rows, columns = values.shape
    return {"rows": rows, "cols": columns, "data": [float(f"{value:.9g}") for value in values.ravel()]}

"""Lenses: projection, intrinsics, `camera_info`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tendon.calibration.boards.detect import Detection
from tendon.calibration.cameras.camera_info import load_camera_info, write_camera_info
from tendon.calibration.cameras.intrinsics import calibrate_intrinsics, select_views
from tendon.calibration.cameras.locate import locate
from tendon.calibration.cameras.model import CameraModel
from tendon.calibration.transforms import Pose, exp
from tendon.core.errors import CalibrationError, ConfigError
from tests.calibration.rigs import BOARD, MODEL

FISHEYE = CameraModel(
    lens="fisheye",
    width=640,
    height=480,
    focal=np.array([300.0, 301.0]),
    centre=np.array([322.0, 238.0]),
    distortion=np.array([0.02, -0.01, 0.003, 0.0]),
)


def seen(model: CameraModel, count: int, seed: int = 0, noise: float = 0.2, tilt: float = 0.7) -> list[Detection]:
    """Returns views of a board that is held before a camera."""
    rng, found = np.random.default_rng(seed), list[Detection]()
    middle = BOARD.points.mean(axis=0)
    while len(found) < count:
        turn = exp(rng.uniform(-1, 1, 3) * np.array([tilt, tilt, 1.0 if tilt else 0.0]))
        away = rng.uniform(0.25, 0.5) * model.focal[0] / 520
        place = Pose(rotation=turn, translation=np.array([*rng.uniform(-0.12, 0.12, 2), away]) - turn @ middle)
        points = place.apply(BOARD.points)
        pixels, _, _ = model.project(points)
        inside = ((pixels > 0) & (pixels < (639, 479))).all(axis=1) & (points[:, 2] > 0.05)
        if inside.sum() < 12:
            continue
        pixels = pixels[inside] + rng.normal(0, noise, (int(inside.sum()), 2))
        wrong = rng.random(len(pixels)) < 0.05
        pixels[wrong] += rng.uniform(-30, 30, (int(wrong.sum()), 2))
        found.append(Detection(ids=np.flatnonzero(inside), pixels=pixels, width=640, height=480))
    return found


@pytest.mark.parametrize("model", [MODEL, FISHEYE], ids=["pinhole", "fisheye"])
def test_a_lens_is_found_within_what_it_says(model: CameraModel) -> None:
    found = calibrate_intrinsics(BOARD, seen(model, 12), model.lens)
    assert found.rms_px < 0.25 and found.rejected > 0
    error = found.model.values - model.values
    assert (np.abs(error) < 4.5 * found.deviation).all(), error / found.deviation


@pytest.mark.parametrize("model", [MODEL, FISHEYE], ids=["pinhole", "fisheye"])
def test_projection_has_the_derivatives_of_finite_differences_and_rays_undo_it(model: CameraModel) -> None:
    points = np.random.default_rng(1).uniform(-0.2, 0.2, (6, 3)) + np.array([0.0, 0.0, 0.6])
    pixels, by_point, by_values = model.project(points)
    np.testing.assert_allclose(model.rays(pixels), points[:, :2] / points[:, 2:], atol=1e-6)
    for k in range(3):
        step = 1e-6 * np.eye(3)[k]
        numeric = (model.project(points + step)[0] - model.project(points - step)[0]) / 2e-6
        np.testing.assert_allclose(by_point[:, :, k], numeric, rtol=1e-4, atol=1e-3)
    for k in range(len(model.values)):
        step = 1e-6 * np.eye(len(model.values))[k]
        ahead, behind = (model.with_values(model.values + sign * step).project(points)[0] for sign in (1, -1))
        np.testing.assert_allclose(by_values[:, :, k], (ahead - behind) / 2e-6, rtol=1e-4, atol=1e-3)


def test_views_are_chosen_that_tell_more_than_others() -> None:
    """Ten tilted ones among ten that are all alike are preferred."""
    alike = seen(MODEL, 10, seed=2, tilt=0.0)
    tilted = seen(MODEL, 10, seed=3)
    chosen = select_views(BOARD, [*alike, *tilted], MODEL, 8)
    assert len(set(chosen)) == 8 and sum(k >= 10 for k in chosen) >= 5


def test_too_few_or_equal_views_are_refused_with_the_fix() -> None:
    with pytest.raises(CalibrationError, match="3 views show the board, needed are 4"):
        calibrate_intrinsics(BOARD, seen(MODEL, 3))
    with pytest.raises(CalibrationError, match="tilt it by 30 deg"):
        calibrate_intrinsics(BOARD, seen(MODEL, 8, noise=0.05, tilt=0.0))


def test_pictures_of_two_sizes_are_refused() -> None:
    views = seen(MODEL, 5)
    with pytest.raises(CalibrationError, match="have sizes"):
        calibrate_intrinsics(BOARD, [*views, replace(views[0], width=320, height=240)])
    with pytest.raises(CalibrationError, match="intrinsics are for 640 x 480"):
        locate(BOARD, replace(views[0], width=320, height=240), MODEL)


@pytest.mark.parametrize("model", [MODEL, FISHEYE], ids=["pinhole", "fisheye"])
def test_camera_info_comes_back_and_the_one_before_is_kept(model: CameraModel, tmp_path: Path) -> None:
    file = tmp_path / "wrist.yaml"
    covariance = np.diag(np.arange(1.0, len(model.values) + 1))
    assert write_camera_info(model, "wrist", file, covariance) is None
    again, its_covariance = load_camera_info(file)
    np.testing.assert_allclose(again.values, model.values)
    assert again.lens == model.lens and its_covariance is not None
    np.testing.assert_allclose(its_covariance, covariance)
    kept = [write_camera_info(model, "wrist", file) for _ in range(2)]
    assert all(each is not None and each.is_file() for each in kept) and kept[0] != kept[1]
    assert load_camera_info(file)[1] is None


@pytest.mark.parametrize("text", ["[]", "distortion_model: plumb_bob", "distortion_model: rational\ncamera_matrix: 3"])
def test_what_is_no_camera_info_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text(text)
    with pytest.raises(ConfigError, match="tendon calibrate intrinsics"):
        load_camera_info(tmp_path / "bad.yaml")

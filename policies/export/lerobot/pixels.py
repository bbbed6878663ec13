"""What a robot's camera gives, as a LeRobot policy wants it; a part of the graph."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.nn import functional

from tendon.core.errors import ConfigError
from tendon.policies.export.lerobot.source import LeRobotSource
from tendon.policies.export.lerobot.statistics import Affine
from tendon.policies.spec.manifest import CameraInput


class Pixels(nn.Module):
    """(n, H, W, 3) uint8 to (n, 3, H, W): divided by 255, then normalised per channel."""

    mean: Tensor
    std: Tensor

    def __init__(self, normalisation: Affine) -> None:
        super().__init__()
        self.register_buffer("mean", torch.tensor(normalisation.mean).reshape(3, 1, 1))
        self.register_buffer("std", torch.tensor(normalisation.std).reshape(3, 1, 1))

    def forward(self, image: Tensor) -> Tensor:
        """Returns the image as a network's input."""
        scaled: Tensor = image.permute(0, 3, 1, 2).to(self.mean.dtype) / 255
        return (scaled - self.mean) / self.std


class Letterbox(nn.Module):
    """Images (n, 3, H, W) in 0 to 1 to the size of a network, undistorted, in the middle of black.

    As LeRobot 0.5 and newer resize for pi0 and pi0.5 (openpi's `resize_with_pad`).

    Args:
        height: of the answer.
        width: likewise.
    """

    def __init__(self, height: int, width: int) -> None:
        super().__init__()
        self._height, self._width = height, width

    def forward(self, image: Tensor) -> Tensor:
        """Returns (n, 3, height, width)."""
        height, width = image.shape[2:]
        if (height, width) == (self._height, self._width):
            return image
        ratio = max(width / self._width, height / self._height)
        inner = int(height / ratio), int(width / ratio)
        resized = functional.interpolate(image, size=inner, mode="bilinear", align_corners=False).clamp(0.0, 1.0)
        missing = self._height - inner[0], self._width - inner[1]
        top, left = missing[0] // 2, missing[1] // 2
        padded: Tensor = functional.pad(resized, (left, missing[1] - left, top, missing[0] - top))
        return padded


def camera_inputs(source: LeRobotSource, cameras: Mapping[str, str], may_lack: int = 0) -> dict[str, CameraInput]:
    """Returns the policy's cameras by LeRobot's image key, in the policy's order.

    Args:
        source: the policy.
        cameras: LeRobot's image key, whole or without `observation.images.`, to the robot's camera name.
        may_lack: how many images may go without a camera; they are left out.

    Raises:
        ConfigError: a key is unknown, too many have no camera, or two have the same.
    """
    images = source.images
    short = {key.removeprefix("observation.images.").removeprefix("observation."): key for key in images}
    chosen: dict[str, str] = {}
    for key, name in cameras.items():
        whole = key if key in images else short.get(key)
        if whole is None:
            raise ConfigError(f"the policy has no image {key!r}, it sees {', '.join(short) or 'none'}")
        if whole in chosen or name in chosen.values():
            raise ConfigError(f"camera {key}={name}: each image and each camera can be named once")
        chosen[whole] = name
    missing = [name for name, key in short.items() if key not in chosen]
    if len(missing) > may_lack or not chosen:
        raise ConfigError(f"no camera for the policy's image {', '.join(missing)}: add --camera {missing[0]}=CAMERA")
    return {
        key: CameraInput(name=chosen[key], width=feature.shape[2], height=feature.shape[1])
        for key, feature in images.items()
        if key in chosen
    }

"""Random observations over which parity is measured."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tendon.policies.parity.graph import Case
from tendon.policies.spec.manifest import CameraInput

RANDOM_CASES = 4


def random_observations(
    cameras: Sequence[CameraInput], state_size: int, observation_steps: int = 1, count: int = RANDOM_CASES
) -> tuple[Case, ...]:
    """Returns observations as `exported` names them: noise and smooth pictures in turn, normal states, fixed seeds."""
    found = []
    for seed in range(count):
        generator = np.random.default_rng(seed)
        case: dict[str, np.ndarray] = {}
        for camera in cameras:
            shape = (observation_steps, camera.height, camera.width, 3)
            noise = generator.integers(0, 256, shape, dtype=np.uint8)
            case[f"image_{camera.name}"] = noise if seed % 2 == 0 else _smooth(generator, shape)
        case["state"] = generator.standard_normal((observation_steps, state_size), dtype=np.float32)
        found.append(case)
    return tuple(found)


def _smooth(generator: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Returns pictures of a few low frequencies: unlike noise, they move a network's deeper features."""
    steps, height, width, channels = shape
    y, x = np.mgrid[0 : 1 : height * 1j, 0 : 1 : width * 1j]
    waves = generator.uniform(0.5, 4.0, (2, steps, channels))
    phase = generator.uniform(0.0, 2.0 * np.pi, (steps, channels))
    angle = 2.0 * np.pi * (y[..., None, None] * waves[0] + x[..., None, None] * waves[1]) + phase
    return np.ascontiguousarray(np.moveaxis((127.5 * (1.0 + np.sin(angle))).astype(np.uint8), 2, 0))

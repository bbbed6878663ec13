"""A calibrated detector inside a bundle: `detector.yaml` and `detector.safetensors`, hashed like every other file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

import numpy as np
import yaml
from safetensors import SafetensorError
from safetensors.numpy import load, save

from tendon.core.config import build
from tendon.core.errors import ConfigError, IntegrityError
from tendon.core.yaml_text import parse_yaml
from tendon.policies.bundle.bundle import Bundle
from tendon.policies.detector.detector import NUMBERS, Calibration, Escalation

DETECTOR_FILE, NUMBERS_FILE = "detector.yaml", "detector.safetensors"
FORMAT = 2


@dataclass(frozen=True, kw_only=True)
class DetectorRecord:
    """All of `detector.yaml`.

    Attributes:
        model_sha256: of the ONNX graph it was calibrated with; another one is refused.
        alpha: largest share of successful episodes with any alarm, on scenes like those of the calibration.
        episodes: how many successful ones set the thresholds.
        scenes: which seeds, or which recordings, they came from.
        windows, thresholds, escalation, stop_thresholds: see `Calibration`.
        stop_alpha: largest share of successful episodes that a stop ends; 0 where nothing stops.
        stop_episodes: how many successful ones set the stop thresholds.
        format: version of this layout.
    """

    model_sha256: str
    alpha: float
    episodes: int
    scenes: str
    windows: Mapping[str, int]
    thresholds: Mapping[str, float]
    escalation: Mapping[str, int]
    stop_thresholds: Mapping[str, float] = field(default_factory=dict)
    stop_alpha: float = 0.0
    stop_episodes: int = 0
    format: int = FORMAT


def detector_files(
    calibration: Calibration,
    bundle: Bundle,
    alpha: float,
    episodes: int,
    scenes: str,
    stop_alpha: float = 0.0,
    stop_episodes: int = 0,
) -> dict[str, bytes]:
    """Returns the two files of a calibration of a bundle's policy, by name; arguments as in `DetectorRecord`."""
    record = DetectorRecord(
        model_sha256=bundle.model_sha256,
        alpha=alpha,
        episodes=episodes,
        scenes=scenes,
        windows=calibration.windows,
        thresholds={name: round(value, 6) for name, value in calibration.thresholds.items()},
        escalation=asdict(calibration.escalation),
        stop_thresholds={name: round(value, 6) for name, value in calibration.stop_thresholds.items()},
        stop_alpha=stop_alpha,
        stop_episodes=stop_episodes,
    )
    plain = asdict(record)
    text = yaml.safe_dump({"format": plain.pop("format"), **plain}, sort_keys=False)
    numbers = {name: np.ascontiguousarray(getattr(calibration, name), np.float32) for name in NUMBERS}
    return {DETECTOR_FILE: text.encode(), NUMBERS_FILE: save(numbers)}


def load_detector(bundle: Bundle, content: Mapping[str, bytes] | None = None) -> Calibration | None:
    """Returns the calibration that a verified bundle holds, or `None` when it holds none.

    Args:
        bundle: of the policy.
        content: verified files that hold one for it, such as those of a residual; by default the bundle's own.

    Raises:
        ConfigError: `detector.yaml` is malformed.
        IntegrityError: one of the two files, or a tensor, is missing or cannot be read.
        MismatchError: it was calibrated with another model.
    """
    content = bundle.content if content is None else content
    if DETECTOR_FILE not in content:
        return None
    record = read_record(content[DETECTOR_FILE])
    bundle.check_model(DETECTOR_FILE, record.model_sha256, "tendon policy calibrate-detector")
    try:
        numbers = load(content[NUMBERS_FILE])
        values = {name: numbers[name].astype(np.float64) for name in NUMBERS}
    except (KeyError, SafetensorError) as error:
        raise IntegrityError(
            f"{NUMBERS_FILE} is missing, damaged or lacks a tensor ({error}): "
            "run `tendon policy calibrate-detector` again"
        ) from error
    escalation = build(Escalation, f"{DETECTOR_FILE} escalation", record.escalation)
    return Calibration(
        **values,
        windows=dict(record.windows),
        thresholds=dict(record.thresholds),
        escalation=escalation,
        stop_thresholds=dict(record.stop_thresholds),
    )


def read_record(data: bytes) -> DetectorRecord:
    """Returns the parsed `detector.yaml`.

    Raises:
        ConfigError: it is no YAML mapping, has an unknown or missing key, or another format.
    """
    record = build(DetectorRecord, DETECTOR_FILE, parse_yaml(data, DETECTOR_FILE))
    if record.format != FORMAT:
        raise ConfigError(
            f"{DETECTOR_FILE} has format {record.format!r}, this version reads {FORMAT}: run "
            "`tendon policy calibrate-detector` again"
        )
    for name in ("windows", "thresholds", "escalation", "stop_thresholds"):
        if not isinstance(getattr(record, name), Mapping):
            raise ConfigError(f"{DETECTOR_FILE} {name} is {getattr(record, name)!r}, must be a mapping")
    return record

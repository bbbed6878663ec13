"""The file that says how a robot's servos follow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from tendon.core.errors import ConfigError, MismatchError
from tendon.robots.servo_response import JointResponse, ServoResponse, read_response, write_response

NAMES = ("a", "b")


def test_what_is_written_is_read(tmp_path: Path) -> None:
    one = JointResponse(delay_s=0.02, settling_s=0.03, lead_s=-0.01, friction=0.002, compliance=-1e-3, offset=0.004)
    write_response(ServoResponse([one, JointResponse()]), tmp_path / "response.yaml", "arm", NAMES)
    assert read_response(tmp_path / "response.yaml", "arm", NAMES).joints == (one, JointResponse())


@pytest.mark.parametrize(
    ("change", "kind", "words"),
    [
        ({"format": 2}, ConfigError, "format: 1"),
        ({"robot": "other"}, MismatchError, "is of robot other, the profile is arm"),
        ({"joints": {"c": {}}}, ConfigError, "joints names c"),
        ({"joints": [1]}, ConfigError, "must be a mapping"),
        ({"joints": {"a": 3}}, ConfigError, "joints a must be a mapping"),
        ({"joints": {"a": {"dellay_s": 0.1}}}, ConfigError, "did you mean delay_s"),
        ({"joints": {"a": {"delay_s": 9.0}}}, ConfigError, r"delay_s \[s\] is 9.0"),
        ({"joints": {"a": {"friction": float("nan")}}}, ConfigError, "friction is nan"),
    ],
)
def test_a_file_that_is_wrong_is_one_sentence(change: dict[str, Any], kind: Any, words: str, tmp_path: Path) -> None:
    path = tmp_path / "response.yaml"
    path.write_text(yaml.safe_dump({"format": 1, "robot": "arm", "joints": {}} | change))
    with pytest.raises(kind, match=words):
        read_response(path, "arm", NAMES)


def test_without_a_file_it_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="run `tendon align` again"):
        read_response(tmp_path / "none.yaml", "arm", NAMES)


def test_joints_that_are_not_named_go_where_they_are_sent(tmp_path: Path) -> None:
    path = tmp_path / "response.yaml"
    path.write_text("format: 1\nrobot: arm\njoints: {b: {offset: 0.1}}\n")
    away = read_response(path, "arm", NAMES).away(np.ones(2), np.ones(2), np.ones(2))
    assert away.tolist() == [0.0, 0.1]

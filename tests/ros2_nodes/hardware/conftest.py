"""The messages of the controller manager, made once in a run."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.ros2_nodes.hardware.generated_messages import can_be_made, make_messages


@pytest.fixture(scope="session")
def messages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not can_be_made():
        pytest.skip("making messages needs gcc and g++")
    folder = make_messages(tmp_path_factory.mktemp("messages"))
    sys.path.append(str(folder))  # this process calls the manager too
    return folder

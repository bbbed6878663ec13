"""LeRobot is installed by `make setup-lerobot` and needs torch: these tests run with `make test-lerobot`."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tendon.policies.export.lerobot.exported_policy import ExportedPolicy

INSTALLED = all(importlib.util.find_spec(name) is not None for name in ("torch", "lerobot"))
collect_ignore_glob = [] if INSTALLED else ["*test_*.py"]  # of folders below too


def pytest_report_header() -> str:
    """Says so when they are left out."""
    return (
        ""
        if INSTALLED
        else "tests of LeRobot are left out: it is not installed; `make test-lerobot` installs it and runs them"
    )


@pytest.fixture(scope="session")
def act_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny ACT policy as LeRobot saves it."""
    from tests.policies.export.lerobot.tiny_policies import save_act

    return save_act(tmp_path_factory.mktemp("act"))


@pytest.fixture(scope="session")
def diffusion_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny Diffusion Policy as LeRobot saves it."""
    from tests.policies.export.lerobot.tiny_policies import save_diffusion

    return save_diffusion(tmp_path_factory.mktemp("diffusion"))


@pytest.fixture(scope="session")
def act_graphs(act_folder: Path) -> ExportedPolicy:
    """That ACT policy, exported."""
    from tendon.policies.export.lerobot.source import read_source
    from tendon.policies.export.networks.act import export_act
    from tests.policies.export.lerobot.tiny_policies import CAMERAS

    return export_act(read_source(act_folder), CAMERAS)


@pytest.fixture(scope="session")
def diffusion_export(diffusion_folder: Path) -> tuple[ExportedPolicy, list[str]]:
    """That Diffusion Policy, exported, and the stages that were reported."""
    from tendon.policies.export.lerobot.source import read_source
    from tendon.policies.export.networks.diffusion import export_diffusion
    from tests.policies.export.lerobot.tiny_policies import CAMERAS

    stages: list[str] = []
    return export_diffusion(read_source(diffusion_folder), CAMERAS, report=stages.append), stages


@pytest.fixture(scope="session")
def diffusion_graphs(diffusion_export: tuple[ExportedPolicy, list[str]]) -> ExportedPolicy:
    """The graphs of it."""
    return diffusion_export[0]

"""The references of YAML files name every key that such a file may have."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from tendon.policies.spec.manifest import Manifest
from tendon.robots.profile import RobotProfile
from tendon.robots.profile_parts import Camera, ControllerSpec, Gripper, Human, Joint, StopInput
from tendon.robots.safety_settings import SafetySettings
from tendon.robots.simulated_parts import Meshes, Mount, Simulation
from tests import ROOT

REFERENCE = ROOT / "docs" / "reference"
PAGES = {
    "robot-profile.md": (
        RobotProfile,
        Joint,
        ControllerSpec,
        Camera,
        Mount,
        Gripper,
        Meshes,
        Simulation,
        Human,
        StopInput,
    ),
    "safety-settings.md": (SafetySettings,),
    "bundle.md": (Manifest,),
}


@pytest.mark.parametrize(("page", "kind"), [(page, kind) for page, kinds in PAGES.items() for kind in kinds])
def test_every_key_is_named(page: str, kind: Any) -> None:
    text = (REFERENCE / page).read_text(encoding="utf-8")
    assert [field.name for field in fields(kind) if f"`{field.name}`" not in text] == []

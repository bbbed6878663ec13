"""Gemma as released computes what openpi's fork of it computes, which LeRobot's pi0 and pi0.5 were made for."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from safetensors.numpy import load_file

from tendon.policies.export.networks.openpi_gemma import accepted_release, has_fork
from tests.policies.export.lerobot.vla.openpi_golden import FILE, answer


@pytest.mark.parametrize("kind", ["pi0", "pi05"])
def test_released_gemma_answers_as_the_fork_did(kind: str) -> None:
    """Ten denoising steps, adaptive norms for pi0.5, a missing camera, padded words. The file is the fork's."""
    wanted = load_file(FILE)[kind]
    assert np.linalg.norm(answer(kind) - wanted) <= 1e-6 * np.linalg.norm(wanted)


def test_the_question_for_the_fork_is_answered_once() -> None:
    """LeRobot asks when it builds; nothing else in the process may believe that the fork is there."""
    assert not has_fork()
    with accepted_release():
        assert has_fork()
    assert not has_fork()
    assert "transformers.models.siglip.check" not in sys.modules

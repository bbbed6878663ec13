"""The examples in docstrings of the public functions work."""

from __future__ import annotations

import doctest
import importlib

import pytest

MODULES = (
    "tendon",
    "tendon.core.types",
    "tendon.evaluation.evaluate",
    "tendon.evaluation.statistics",
    "tendon.policies.load",
    "tendon.robots.profile",
    "tendon.sim.tabletop.make",
)


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_work(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS, report=True)
    assert result.attempted and not result.failed

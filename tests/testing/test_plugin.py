"""The plugin as pytest loads it: it costs nothing unused, and shows what came of episodes when a test fails."""

from __future__ import annotations

import pytest

import tendon.testing
from tests import ROOT

pytest_plugins = "pytester"

HEAVY = ("numpy", "rclpy", "pinocchio", "pybullet", "mujoco", "onnxruntime", "tendon.core")
EPISODES = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from tendon.testing import assert_success
from tests.evaluation.turning import TURNING, TurningPolicy

def run(tendon_episode, **settings):
    return tendon_episode(TurningPolicy(), suite=TURNING, robot="ur5e", timing="overwrite", **settings)
"""


@pytest.fixture(autouse=True)
def _in_its_own_folder(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\naddopts = -p no:cacheprovider")


def test_a_run_that_uses_nothing_of_it_imports_nothing_heavy(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        f"""
        import sys

        def test_nothing(pytestconfig):
            assert "tendon.testing.plugin" in sys.modules
            assert not [name for name in {HEAVY} if name in sys.modules]
        """
    )
    pytester.runpytest_subprocess("-q").assert_outcomes(passed=1)


def test_every_public_name_is_where_it_is_said_to_be() -> None:
    assert list(tendon.testing._HOMES) == tendon.testing.__all__
    for name, module in tendon.testing._HOMES.items():
        assert getattr(tendon.testing, name).__module__ == f"tendon.testing.{module}"


def test_its_fixtures_are_listed_with_what_they_do(pytester: pytest.Pytester) -> None:
    listed = pytester.runpytest_subprocess("--fixtures", "-q").stdout.str()
    for name in ("tendon_graph", "module_tendon_graph", "tendon_episode"):
        assert f"{name}" in listed
    assert "Starts a graph of real processes" in listed


def test_episodes_run_and_a_failed_assert_lists_them_and_says_how_many_would_tell(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        EPISODES
        + """
def test_it_turns(tendon_episode):
    assert_success(run(tendon_episode, seeds=range(100_000, 100_004)), at_least=0.5)

def test_it_turns_nearly_always(tendon_episode):
    assert_success(run(tendon_episode, seeds=[100_000, 100_001]), at_least=0.9)
"""
    )
    result = pytester.runpytest_subprocess("-q", "--junitxml=junit.xml")
    result.assert_outcomes(passed=1, failed=1)
    junit, said = (pytester.path / "junit.xml").read_text(encoding="utf-8"), result.stdout.str()
    assert 'name="tendon_success" value="100.0 % [51.0, 100.0] (4/4)"' in junit
    assert "(2/2) succeeded: too few to tell whether that is at least 90 %; with the same rate 35 episodes" in said
    assert "- episodes, 100.0 % [34.2, 100.0] (2/2) succeeded -" in said
    assert "/100001 " in said and "done after" in said
    assert "def assert_success" not in said, "a reader wants his own test, not our code"


WRONG = {
    "robto='panda'": "unknown argument robto; did you mean robot?",
    "robot='pnada'": "did you mean panda?",
    "backend='hardware'": "backend is 'hardware': a test moves no real robot; take sim or mock",
    "simulator='bullet'": "simulator:=bullet is not allowed; did you mean pybullet?",
}


def test_a_wrong_argument_is_one_clear_error_and_starts_nothing(pytester: pytest.Pytester) -> None:
    tests = (f"def test_{k}(tendon_graph):\n    tendon_graph({arguments})\n" for k, arguments in enumerate(WRONG))
    pytester.makepyfile("\n".join(tests))
    result = pytester.runpytest_subprocess("-q")
    result.assert_outcomes(failed=len(WRONG))
    said = result.stdout.str()
    assert [words for words in WRONG.values() if words not in said] == []
    assert "graph in ROS domain" not in said

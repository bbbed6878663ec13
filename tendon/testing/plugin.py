"""pytest's plugin (entry point `pytest11`): the fixtures, and what a failed test shows of graphs and episodes.

pytest imports it in every run of an environment that has Tendon: it imports nothing of Tendon before a fixture is used.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pytest

if TYPE_CHECKING:
    from tendon.core.protocols import Policy
    from tendon.evaluation.evaluate import Evaluation
    from tendon.testing.graph import GraphUnderTest

SHOWN_LINES = 60
"""Of a graph's log, for a test that failed."""


class StartGraph(Protocol):
    """Starts a graph, which ends with the fixture."""

    def __call__(self, **arguments: object) -> GraphUnderTest:
        """Returns the graph, of arguments as `tendon run` takes them."""


class RunEpisodes(Protocol):
    """Runs episodes without ROS."""

    def __call__(self, policy: Policy | str | Path, *, seeds: Iterable[int], **settings: Any) -> Evaluation:
        """Returns what came of them, see `tendon.evaluate`."""


_GRAPHS: pytest.StashKey[list[GraphUnderTest]] = pytest.StashKey()
_EVALUATIONS: pytest.StashKey[list[Evaluation]] = pytest.StashKey()


@pytest.fixture
def tendon_graph(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StartGraph]:
    """Starts a graph of real processes, which ends with the test: `tendon_graph(robot="panda", policy="tabletop")`.

    Its arguments are those of `tendon run`, as Python values: simulated time unless `clock="realtime"`. It has a ROS
    domain of its own, and its latch is nobody else's. A test that fails shows the last lines of its log.
    """
    with _graphs(request.config, tmp_path_factory) as start:
        yield start


@pytest.fixture(scope="module")
def module_tendon_graph(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[StartGraph]:
    """As `tendon_graph`, for a fixture of your own of module scope: to start takes seconds, and tests may share it."""
    with _graphs(request.config, tmp_path_factory) as start:
        yield start


@pytest.fixture
def tendon_episode(request: pytest.FixtureRequest, record_property: Callable[[str, object], None]) -> RunEpisodes:
    """Runs episodes without ROS, as `tendon.evaluate` does: `tendon_episode("tabletop", seeds=[100_004])`.

    The rate of success is a property of the test in pytest's JUnit file. A test that fails shows what came of each
    episode.
    """
    evaluations = request.node.stash.setdefault(_EVALUATIONS, [])

    def run(policy: Policy | str | Path, *, seeds: Iterable[int], **settings: Any) -> Evaluation:
        from tendon.evaluation.evaluate import evaluate

        evaluation = evaluate(policy, seeds, **settings)
        evaluations.append(evaluation)
        record_property("tendon_success", str(evaluation.success))
        return evaluation

    return run


@contextlib.contextmanager
def _graphs(config: pytest.Config, folders: pytest.TempPathFactory) -> Iterator[StartGraph]:
    """Gives what starts graphs, and ends them in any case."""
    running = config.stash.setdefault(_GRAPHS, [])
    with contextlib.ExitStack() as ending:

        def start(**arguments: object) -> GraphUnderTest:
            from tendon.testing.graph import start_graph

            graph = start_graph(arguments, folders.mktemp("graph"))
            ending.callback(graph.end)
            running.append(graph)
            ending.callback(running.remove, graph)
            return graph

        yield start


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Adds what graphs said, and what came of episodes, to the report of a test that failed."""
    report = yield
    if report.failed:
        for graph in item.config.stash.get(_GRAPHS, []):
            title = f"graph in ROS domain {graph.domain}, last lines of {graph.log}"
            report.sections.append((title, graph.process.said(SHOWN_LINES)))
        for evaluation in item.stash.get(_EVALUATIONS, []):
            told = [f"{each.family}/{each.seed} {each.instruction!r}: {each.outcome}" for each in evaluation.episodes]
            report.sections.append((f"episodes, {evaluation.success} succeeded", "\n".join(told)))
    return report

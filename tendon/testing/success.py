"""Asserts that a policy succeeds often enough, as far as so many episodes can tell."""

from __future__ import annotations

from tendon.evaluation.evaluate import Evaluation
from tendon.evaluation.statistics import doubt_of


def assert_success(evaluation: Evaluation, at_least: float) -> None:
    """Fails unless the episodes show that the rate of success is at least so much, with 95 % confidence (Wilson).

    Few episodes show little: 4 of 4 show 0.5, 10 of 10 show 0.7. The message says how many would be needed.

    Args:
        evaluation: what `tendon.evaluate` or the fixture `tendon_episode` returned.
        at_least: between 0 and 1.

    Raises:
        AssertionError: the interval reaches below `at_least`.
        ConfigError: `at_least` is not between 0 and 1.
    """
    __tracebackhide__ = True
    doubt = doubt_of(evaluation.success, at_least)
    if doubt:
        lost = [f"  {episode.family}/{episode.seed}: {episode.outcome}" for episode in evaluation.episodes]
        failed = [line for line, episode in zip(lost, evaluation.episodes, strict=True) if not episode.success]
        raise AssertionError("\n".join([doubt, *failed]))

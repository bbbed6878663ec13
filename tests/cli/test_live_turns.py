"""Between the turns of a blind session the policy is interrupted once, and the way home begins after that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tendon.cli import live_turns
from tendon.cli.live_turns import Turns
from tendon.core.errors import StoppedError
from tendon.core.modes import Mode, Source
from tendon.safety.reports import ControlState


class SlowGraph:
    """An operator of a graph that obeys only after some looks; later stops would interrupt whatever runs then."""

    def __init__(self, looks: int, source: Source) -> None:
        self.said: list[str] = []
        self.reports = self
        self._looks, self._source = looks, source

    def say(self, text: str) -> None:
        self.said.append(text)

    def newest(self, kind: type) -> ControlState | None:
        if self.said:
            self._looks -= 1
        source = Source.HOLD if self.said and self._looks < 0 else self._source
        return ControlState(mode=Mode.ARMED, event=1, source=source) if kind is ControlState else None

    def wait(self, condition: Callable[[], bool], timeout_s: float) -> bool:
        return any(condition() for _ in range(int(10 * timeout_s)))

    def at_rest(self) -> bool:
        return True


def turns(graph: SlowGraph) -> Turns:
    unused: Any = None
    return Turns(graph, unused, unused, "panda", 1.0)  # type: ignore[arg-type]


def test_a_stop_is_over_before_the_way_home_begins() -> None:
    graph = SlowGraph(looks=50, source=Source.POLICY)
    turns(graph)._rest()
    assert graph.newest(ControlState).source is Source.HOLD  # type: ignore[union-attr]
    turns(graph)._rest()
    assert graph.said == [live_turns.STOP]


def test_what_is_held_already_is_not_stopped_again() -> None:
    graph = SlowGraph(looks=0, source=Source.HOLD)
    turns(graph)._rest()
    assert graph.said == []


def test_a_policy_that_does_not_hear_is_said() -> None:
    with pytest.raises(StoppedError, match="the policy was not interrupted within 20 s"):
        turns(SlowGraph(looks=10**6, source=Source.POLICY))._rest()

"""Between the turns of a blind session the policy is interrupted once, and the way home begins after that."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from tendon.cli import live_turns
from tendon.cli.live_turns import Turns
from tendon.core.causes import Cause
from tendon.core.errors import StoppedError
from tendon.core.modes import Mode, PermissionState, Source
from tendon.core.permission import Permission
from tendon.safety.reports import ControlState, MonitorState


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


class Latched:
    """An operator of a latched graph that says how it is after some looks, and of a reset after some more."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.reports = self
        self._looks = 0

    def newest(self, kind: type) -> MonitorState | None:
        self._looks += 1
        if kind is not MonitorState or self._looks < 20:
            return None
        latched = not self.asked
        state = PermissionState.LATCHED if latched else PermissionState.STANDBY
        cause = Cause.REQUESTED if latched else None
        return MonitorState(permission=Permission(state=state, event=1, reason="stop was requested", cause=cause))

    def mode(self) -> Mode | None:
        self._looks += 1
        if self._looks < 20:
            return None
        if "arm" in self.asked:
            return Mode.ARMED
        return Mode.STANDBY if self.asked and self._looks > 40 else Mode.LATCHED

    def permission(self) -> PermissionState:
        return PermissionState.ARMED if "arm" in self.asked else PermissionState.STANDBY

    def wait(self, condition: Callable[[], bool], timeout_s: float) -> bool:
        return any(condition() for _ in range(100))

    def reset(self) -> None:
        self.asked.append("reset")

    def arm(self) -> None:
        assert self.mode() is Mode.STANDBY, "the control node knows of the reset"
        self.asked.append("arm")

    def say(self, text: str) -> None:
        pass

    def stop(self) -> None:
        raise StoppedError("nobody answers safety/stop")


def test_one_key_resets_and_arms_a_graph_that_was_latched_before_the_session() -> None:
    graph: Any = Latched()
    turns(graph)._arm()
    assert graph.asked == ["reset", "arm"]


def test_a_graph_that_is_gone_does_not_hide_why_the_turns_ended(capsys: pytest.CaptureFixture[str]) -> None:
    unused: Any = None
    session: Any = SimpleNamespace(settings=SimpleNamespace(turns=lambda: [0]), next=(0, 0, "A", "left"))
    playing = Turns(Latched(), unused, session, "panda", 1.0)  # type: ignore[arg-type]
    with pytest.raises(StoppedError, match="the policy was not interrupted"):
        playing.play()
    assert "nobody was told to stop: nobody answers safety/stop" in capsys.readouterr().out

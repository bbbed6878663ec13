"""`tendon say` tells who leads in place of the policy, also where it hears that late."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from tendon.commands import say
from tendon.core.modes import Mode, Source
from tendon.safety.reports import ControlState


class Late:
    """An operator that has heard nothing of the control node for some looks."""

    def __init__(self, source: Source, looks: int, mode: Mode = Mode.ARMED) -> None:
        self.reports = self
        self._source, self._looks, self._mode = source, looks, mode

    def say(self, text: str) -> None:
        pass

    def newest(self, kind: type) -> ControlState | None:
        assert kind is ControlState
        self._looks -= 1
        return None if self._looks >= 0 else ControlState(mode=self._mode, event=1, source=self._source)

    def mode(self) -> Mode | None:
        state = self.newest(ControlState)
        return None if state is None else state.mode

    def wait(self, condition: Callable[[], bool], timeout_s: float) -> bool:
        return any(condition() for _ in range(20))


@pytest.mark.parametrize("looks", [0, 5])
@pytest.mark.parametrize(
    ("source", "said"), [(Source.TELEOP, "but teleop leads"), (Source.POLICY, "goes for it: left")]
)
def test_who_leads_is_told_as_soon_as_it_is_heard(
    looks: int, source: Source, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    told = told_by(Late(source, looks), monkeypatch, capsys)
    assert said in told and told.count("\n") == 1


@pytest.mark.parametrize(
    ("mode", "said"), [(Mode.LATCHED, "tendon safety reset, then tendon safety arm"), (Mode.STANDBY, "is not armed")]
)
def test_who_asks_a_robot_that_cannot_move_is_told_what_to_do(
    mode: Mode, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said in told_by(Late(Source.POLICY, 0, mode), monkeypatch, capsys)


def told_by(operator: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    status = SimpleNamespace(refusal="", instruction="left")
    monkeypatch.setattr(say, "wait_for_policy", lambda *_: status)
    say._tell(operator, "left")
    return capsys.readouterr().out

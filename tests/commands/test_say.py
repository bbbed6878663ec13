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

    def __init__(self, source: Source, looks: int) -> None:
        self.reports = self
        self._source, self._looks = source, looks

    def say(self, text: str) -> None:
        pass

    def newest(self, kind: type) -> ControlState | None:
        assert kind is ControlState
        self._looks -= 1
        return None if self._looks >= 0 else ControlState(mode=Mode.ARMED, event=1, source=self._source)

    def wait(self, condition: Callable[[], bool], timeout_s: float) -> bool:
        return any(condition() for _ in range(20))


@pytest.mark.parametrize("looks", [0, 5])
@pytest.mark.parametrize(("source", "said"), [(Source.TELEOP, "but teleop leads"), (Source.POLICY, "")])
def test_who_leads_is_told_as_soon_as_it_is_heard(
    looks: int, source: Source, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    status = SimpleNamespace(refusal="", instruction="left")
    monkeypatch.setattr(say, "wait_for_policy", lambda *_: status)
    operator: Any = Late(source, looks)
    say._tell(operator, "left")
    told = capsys.readouterr().out
    assert said in told and bool(told) == bool(said)

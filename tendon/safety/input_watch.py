"""Inputs from outside that permit motion: emergency stops, enabling devices, modes of the robot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from tendon.core.causes import Cause
from tendon.robots.profile import SafetySettings, StopInput
from tendon.robots.safety_settings import nanoseconds
from tendon.safety.response import Finding, Response

Value = bool | int | str
USUAL = SafetySettings()
QUEUE = 256
"""Messages of an input that wait at most: what 100 a second are in a standstill that is a hold. When so many came since
the last look, one that does not permit motion may have been overwritten, so that is a stop."""


class StopInputWatch:
    """One input. Whatever is not one of the values that permit motion restricts it, and so does silence.

    Args:
        spec: what it is, as the profile has it.
        settings: how long somebody may publish and not be heard.
    """

    def __init__(self, spec: StopInput, settings: SafetySettings = USUAL) -> None:
        self.spec = spec
        self._unheard_ns = nanoseconds(settings.input_unheard_s)
        self._age_ns = None if spec.max_age_s is None else nanoseconds(spec.max_age_s)
        self._response = Response[spec.response.upper()]
        self._value: Value | None = None
        self._heard_ns = 0
        self._attended = False
        self._attended_ns: int | None = None
        self._unheard = ""
        self._counts: Counter[int] = Counter()
        self._objection: Value | None = None

    def hear(self, value: Value, now_ns: int, queue: int = 0) -> None:
        """Takes a value that has just arrived, through one of the queues of its topic."""
        self._value, self._heard_ns, self._attended = value, now_ns, True
        self._counts[queue] += 1
        if not self._permitted(value):
            self._objection = value

    def attend(self, publishers: int, unheard: str = "") -> None:
        """Takes who publishes on its topic now.

        Args:
            publishers: how many do.
            unheard: which of them cannot be heard and why, such as "button publishes best effort"; empty when all can.
        """
        self._attended, self._unheard = publishers > 0, unheard

    def _permitted(self, value: Value) -> bool:
        return any(type(value) is type(each) and value == each for each in self.spec.permits)

    def findings(self, now_ns: int) -> Iterable[Finding]:
        """Returns what restricts motion now, or did since this was asked last: a button may be pushed in between."""
        objection, self._objection = self._objection, None
        count = max(self._counts.values(), default=0)
        self._counts.clear()
        if self._unheard:
            return [self._finding(Response.STOP, f"cannot be heard on {self.spec.topic}: {self._unheard}")]
        if self._value is None:
            return self._never_heard(now_ns)
        if count >= QUEUE:
            what = f"came {count} times at once, must be fewer than {QUEUE}: a value that stops may be lost"
            return [self._finding(Response.STOP, what)]
        if not self._permitted(self._value):
            objection = self._value
        if self._age_ns is not None and now_ns - self._heard_ns > self._age_ns:
            return [self._finding(Response.STOP, f"has been silent for {self._age_ns / 1e6:.0f} ms")]
        if self._age_ns is None and not self._attended:
            return [self._finding(Response.STOP, f"is silent: nobody publishes on {self.spec.topic}")]
        if objection is None:
            return []
        permits = " or ".join(map(_word, self.spec.permits))
        return [self._finding(self._response, f"is {_word(objection)}, motion needs {permits}")]

    def _never_heard(self, now_ns: int) -> list[Finding]:
        if not self._attended:
            self._attended_ns = None
        elif self._attended_ns is None:
            self._attended_ns = now_ns
        if self._attended_ns is not None and now_ns - self._attended_ns > self._unheard_ns:
            what = f"was not heard yet, although somebody publishes on {self.spec.topic}"
            return [self._finding(Response.STOP, what)]
        return [self._finding(Response.STOP, "was not heard yet")] if self.spec.required else []

    def _finding(self, response: Response, what: str) -> Finding:
        text = f"stop input {self.spec.name} {what}"
        return Finding(source=f"stop input {self.spec.name}", response=response, cause=Cause.STOP_INPUT, reason=text)


def _word(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)

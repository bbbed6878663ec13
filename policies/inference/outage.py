"""What is said while inference fails: once when it is lost, rarely while it stays so, and once when it is back."""

from __future__ import annotations

from tendon.core.errors import RemoteError
from tendon.core.phrases import without_numbers
from tendon.policies.remote.transport.backoff import MAX_S, WaitingError

REMINDERS_S = (30.0, 120.0, 600.0)
"""How long after it began an outage is spoken of again; after the last one, each time as long passes again."""
RECOVERED_S = 1.0
"""Without a failure for so long, it is over: a policy that fails now and then does not come back each time."""
MAX_PHRASES = 20
"""Different things that are said of one outage: whatever comes after these is no news either."""


class Outage:
    """Failures of inference in a row as one text, which changes only when there is something new to say. One thread.

    A failure each second with other numbers in it, or one of two reasons in turn, is no news.
    """

    def __init__(self) -> None:
        self.text = ""
        self._began_s, self._last_s = 0.0, 0.0
        self._count, self._reminder_s = 0, 0.0
        self._reason = ""
        self._phrases: set[str] = set()

    def failed(self, error: Exception, now_s: float) -> str:
        """Takes note of a failure and returns the text for it.

        Args:
            error: of one inference.
            now_s: on a clock that is never set.
        """
        if not self.text:
            self._began_s, self._count, self._reminder_s = now_s, 0, 0.0
            self._phrases.clear()
        self._last_s = now_s
        self._count += 1
        phrase = without_numbers(str(error))
        reminder_s = _reminder_s(now_s - self._began_s)
        new = phrase not in self._phrases and len(self._phrases) < MAX_PHRASES and not isinstance(error, WaitingError)
        if not self.text or new or reminder_s > self._reminder_s:
            self._phrases.add(phrase)
            self._reason = str(error) if new or not self.text else self._reason
            self._reminder_s = reminder_s
            self.text = self._say(isinstance(error, RemoteError))
        return self.text

    def succeeded(self, now_s: float) -> str:
        """Takes note of an inference that was good; returns what to say of the outage that is over, mostly nothing."""
        if not self.text or now_s - self._last_s < RECOVERED_S:
            return ""
        away_s, self.text = now_s - self._began_s, ""
        return f"inference is back after {away_s:.1f} s ({self._count} failed): {self._reason}"

    def _say(self, remote: bool) -> str:
        since = f" for {self._reminder_s:g} s ({self._count} times)" if self._reminder_s else ""
        again = f"; the server is asked again within {MAX_S:g} s" if remote else ""
        return f"inference failed{since}: {self._reason}; the robot stops at the end of its plan{again}"


def _reminder_s(passed_s: float) -> float:
    """Returns the last reminder that is due after so long; 0 for none."""
    last = REMINDERS_S[-1]
    return max((each for each in (*REMINDERS_S, passed_s // last * last) if each <= passed_s), default=0.0)

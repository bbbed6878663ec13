"""Who sends: exactly one node commands a controller, proposes chunks, or says where people are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tendon.core.causes import Cause, Reason
from tendon.robots.safety_settings import SafetySettings, nanoseconds
from tendon.safety.response import Finding, Response

REMEMBERED_NS = 25_000_000_000
"""How long the middleware may go on naming a killed node, as DDS does for its lease of 20 s."""
NAMES = 256
"""Publishers whose names are remembered."""
INSTANCES = 8
"""Processes of one name that are remembered."""


class SourceWatch:
    """The publishers of each watched topic, and the processes behind each heartbeat.

    Args:
        owners: topic to the name of the one node that may publish there; an empty name for whoever does it alone.
        nodes: whose heartbeats tell how many of them run.
        now_ns: a monotonic clock's time now: what ran before this start may be remembered for a while.
        settings: how long a sender may be nameless, and two processes of one name count as running at once.
    """

    def __init__(self, owners: Mapping[str, str], nodes: Iterable[str], now_ns: int, settings: SafetySettings) -> None:
        self._unnamed_ns, self._doubled_ns = map(nanoseconds, (settings.unnamed_sender_s, settings.doubled_node_s))
        self._owners = dict(owners)
        self._heard: dict[str, list[str]] = {node: [] for node in (*nodes, *filter(None, owners.values()))}
        self._together_ns: dict[str, int] = {}
        self._changed_ns = dict.fromkeys(self._heard, now_ns)
        self._seen: dict[tuple[str, str], int] = {}
        self._names: dict[tuple[str, str], str] = {}
        self._publishers: dict[str, tuple[str, ...]] = {}
        self._lasting: dict[str, int] = {}

    def beat(self, node: str, instance: str, now_ns: int) -> None:
        """Takes a heartbeat of one process."""
        if node not in self._heard:
            return
        heard = self._heard[node]
        if instance in heard[:-1]:  # it is heard again after another: not replaced by it, but beside it
            self._together_ns[node] = now_ns
        if instance not in heard:
            self._changed_ns[node] = now_ns
        self._heard[node] = [*(each for each in heard if each != instance), instance][-INSTANCES:]

    def publishers(self, topic: str, found: Sequence[tuple[str, str]], now_ns: int) -> None:
        """Takes who publishes on a topic now.

        Args:
            topic: one of the owners'.
            found: (node name, id of the publisher) each; the name is empty while it is not known.
            now_ns: when it was looked up.
        """
        ids = {key for _, key in found}
        self._seen = {(t, key): at_ns for (t, key), at_ns in self._seen.items() if t != topic or key in ids}
        for _, key in found:
            self._seen.setdefault((topic, key), now_ns)
        # After a standstill longer than the lease of DDS the middleware knows a publisher again, but not its name.
        self._names |= {(topic, key): name for name, key in found if name}
        self._names = dict([*self._names.items()][-NAMES:])
        named = [(name or self._names.get((topic, key), ""), key) for name, key in found]
        late = [(name, now_ns - self._seen[topic, key] > self._unnamed_ns) for name, key in named]
        self._lasting[topic] = sum(now_ns - self._seen[topic, key] > REMEMBERED_NS for key in ids)
        self._publishers[topic] = tuple(name or "a node without a name" for name, old in late if name or old)

    def findings(self, now_ns: int) -> Iterable[Finding]:
        """Returns a stop for each topic that somebody else publishes on, and for each name that two processes have.

        A hold while two of one name on a topic may be one that was killed and its successor.
        """
        found = []
        for topic, owner in self._owners.items():
            names = self._publishers.get(topic, ())
            others = sorted({name for name in names if name != owner})
            if not owner and len(others) > 1:
                found.append(_finding(f"topic {topic}", f"{' and '.join(others)} both publish on {topic}"))
            elif not owner:  # of one name: another that was killed may be remembered
                if others and (count := self._lasting.get(topic, 0)) > 1:
                    found.append(_finding(f"topic {topic}", f"{topic} has {count} publishers called {others[0]}"))
                elif len(names) > 1 and others[0] not in self._heard:  # no heartbeats tell which of them live
                    text = f"{topic} has {len(names)} publishers called {others[0]}, or one was killed a moment ago"
                    found.append(_finding(f"topic {topic}", text, Response.HOLD))
            elif others:
                text = f"{' and '.join(others)} may publish on {topic}, which belongs to {owner}"
                found.append(_finding(f"topic {topic}", text))
            elif len(names) > 1 and now_ns - self._changed_ns[owner] > REMEMBERED_NS:
                found.append(_finding(f"topic {topic}", f"{topic} has {len(names)} publishers called {owner}"))
        for node, at_ns in self._together_ns.items():
            if now_ns - at_ns <= self._doubled_ns:
                found.append(_finding(f"node {node}", f"two of {node} run at once"))
        return found


def _finding(source: str, text: str, response: Response = Response.STOP) -> Finding:
    return Finding(source=source, response=response, cause=Cause.SENDER, reason=text)


class BreachWatch:
    """What was broken a moment ago: a law, or simulated time.

    Args:
        settings: how long one counts as present.
    """

    def __init__(self, settings: SafetySettings) -> None:
        self._present_ns = nanoseconds(settings.breach_s)
        self._breaches: dict[str, tuple[Reason, int]] = {}

    def add(self, source: str, reason: Reason, now_ns: int) -> None:
        """Takes what a source broke, such as "panda_arm_controller"."""
        self._breaches[source] = (reason, now_ns)

    def findings(self, now_ns: int) -> Iterable[Finding]:
        """Returns a stop for each that is fresh."""
        return [
            Finding(source=source, response=Response.STOP, cause=reason.cause, reason=f"{source}: {reason.text}")
            for source, (reason, at_ns) in self._breaches.items()
            if now_ns - at_ns <= self._present_ns
        ]

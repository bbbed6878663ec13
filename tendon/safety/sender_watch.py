"""Who sends: exactly one node commands a controller, and exactly one proposes chunks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

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
        self._publishers[topic] = tuple(name or "a node without a name" for name, old in late if name or old)

    def findings(self, now_ns: int) -> Iterable[Finding]:
        """Returns a stop for each topic that somebody else publishes on, and for each name that two processes have."""
        found = []
        for topic, owner in self._owners.items():
            names = self._publishers.get(topic, ())
            others = sorted({name for name in names if name != owner})
            if not owner:
                text = f"{' and '.join(others)} both publish on {topic}" if len(others) > 1 else ""
                found += [Finding(source=f"topic {topic}", response=Response.STOP, reason=text)] if text else []
            elif others:
                text = f"{' and '.join(others)} may publish on {topic}, which belongs to {owner}"
                found.append(Finding(source=f"topic {topic}", response=Response.STOP, reason=text))
            elif len(names) > 1 and now_ns - self._changed_ns[owner] > REMEMBERED_NS:
                text = f"{topic} has {len(names)} publishers called {owner}"
                found.append(Finding(source=f"topic {topic}", response=Response.STOP, reason=text))
        for node, at_ns in self._together_ns.items():
            if now_ns - at_ns <= self._doubled_ns:
                text = f"two of {node} run at once"
                found.append(Finding(source=f"node {node}", response=Response.STOP, reason=text))
        return found


class BreachWatch:
    """Laws that were broken a moment ago.

    Args:
        settings: how long one counts as present.
    """

    def __init__(self, settings: SafetySettings) -> None:
        self._present_ns = nanoseconds(settings.breach_s)
        self._breaches: dict[str, tuple[str, int]] = {}

    def add(self, source: str, reason: str, now_ns: int) -> None:
        """Takes a broken law of a source, such as "command panda_arm_controller"."""
        self._breaches[source] = (reason, now_ns)

    def findings(self, now_ns: int) -> Iterable[Finding]:
        """Returns a stop for each that is fresh."""
        return [
            Finding(source=source, response=Response.STOP, reason=f"{source}: {reason}")
            for source, (reason, at_ns) in self._breaches.items()
            if now_ns - at_ns <= self._present_ns
        ]

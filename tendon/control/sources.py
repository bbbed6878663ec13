"""Who sends: exactly one node commands a controller, and exactly one proposes chunks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tendon.control.response import Finding, Response

UNKNOWN_NS = 300_000_000
"""How long a publisher may be without a known name: discovery tells of the topic before the node."""
REMEMBERED_NS = 25_000_000_000
"""How long the middleware may go on naming a killed node, as DDS does for its lease of 20 s."""
TOGETHER_NS = 300_000_000
"""Two processes of one name that were both heard within this time run at once; a restart takes longer."""
BREACH_NS = 500_000_000
"""How long a broken law counts as present."""


class SourceWatch:
    """The publishers of each watched topic, and the processes behind each heartbeat.

    Args:
        owners: topic to the name of the one node that may publish there; an empty name for whoever does it alone.
        nodes: whose heartbeats tell how many of them run.
        now_ns: a monotonic clock's time now: what ran before this start may be remembered for a while.
    """

    def __init__(self, owners: Mapping[str, str], nodes: Iterable[str], now_ns: int) -> None:
        self._owners = dict(owners)
        self._heard: dict[str, dict[str, int]] = {node: {} for node in (*nodes, *filter(None, owners.values()))}
        self._changed_ns = dict.fromkeys(self._heard, now_ns)
        self._seen: dict[tuple[str, str], int] = {}
        self._publishers: dict[str, tuple[str, ...]] = {}

    def beat(self, node: str, instance: str, now_ns: int) -> None:
        """Takes a heartbeat of one process."""
        if node not in self._heard:
            return
        if instance not in self._heard[node]:
            self._changed_ns[node] = now_ns
            self._heard[node] = {k: at_ns for k, at_ns in self._heard[node].items() if now_ns - at_ns <= TOGETHER_NS}
        self._heard[node][instance] = now_ns

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
        late = [(name, now_ns - self._seen[topic, key] > UNKNOWN_NS) for name, key in found]
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
        for node, heard in self._heard.items():
            together = sum(now_ns - at_ns <= TOGETHER_NS for at_ns in heard.values())
            if together > 1:
                text = f"{together} of {node} run at once"
                found.append(Finding(source=f"node {node}", response=Response.STOP, reason=text))
        return found


class BreachWatch:
    """Laws that were broken a moment ago."""

    def __init__(self) -> None:
        self._breaches: dict[str, tuple[str, int]] = {}

    def add(self, source: str, reason: str, now_ns: int) -> None:
        """Takes a broken law of a source, such as "command panda_arm_controller"."""
        self._breaches[source] = (reason, now_ns)

    def findings(self, now_ns: int) -> Iterable[Finding]:
        """Returns a stop for each that is fresh."""
        return [
            Finding(source=source, response=Response.STOP, reason=f"{source}: {reason}")
            for source, (reason, at_ns) in self._breaches.items()
            if now_ns - at_ns <= BREACH_NS
        ]

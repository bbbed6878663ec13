"""Which task held when, by what a recording says of it."""

from __future__ import annotations

from bisect import bisect_right

from tendon.data.reading.recording import McapRecording, decode
from tendon.data.recording.episode import EpisodeBegin

SOURCES = ("followed", "instruction")
"""What the policy says that it follows, and what it was told to where it says nothing."""


class Tasks:
    """The tasks of a recording.

    A recorder that joins a running graph hears its first word of the task after the first messages, though it was said
    before them: it holds from the begin.

    Args:
        recording: with messages of type std_msgs/String about the task.
        begin: what it says of its begin.

    Raises:
        InvalidDataError: a message cannot be read.
    """

    def __init__(self, recording: McapRecording, begin: EpisodeBegin) -> None:
        topics = [begin.roles.others.get(name, "") for name in SOURCES]
        topic = next((each for each in topics if each in recording.topics), None)
        heard = [] if topic is None else [(each.log_ns, str(decode(each).data)) for each in recording.samples([topic])]
        first = begin.instruction or (heard[0][1] if heard else "")
        self._from_ns = [log_ns for log_ns, _ in heard]
        self._texts = [first, *(text for _, text in heard)]

    @property
    def told(self) -> bool:
        """Whether there is any."""
        return any(text.strip() for text in self._texts)

    def at(self, log_ns: int) -> str:
        """Returns the newest task that was heard by then."""
        return self._texts[bisect_right(self._from_ns, log_ns)]

    def around(self, log_ns: int) -> tuple[str, ...]:
        """Returns that task, the one before it, the one after it, and none: one of these was followed.

        The word of a task and that of an observation come by different topics, so either may be first.
        """
        number = bisect_right(self._from_ns, log_ns)
        before, after = self._texts[max(0, number - 1) : number], self._texts[number + 1 : number + 2]
        return (self._texts[number], *before, *after, "")


def untold_line(name: str, count: int, total: int) -> str:
    """Returns what is said of episodes without an instruction: how many of all, and what adds one."""
    return (
        f"{name}: {count} of {total} episodes have no instruction, and a policy learns to do what it is told: "
        '`tendon data convert RECORDINGS --out NEW --instruction "WHAT WAS DONE"` adds it'
    )

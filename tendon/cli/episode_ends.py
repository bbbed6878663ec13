"""Says what became of an episode that ended by no key, as when its recorder was killed."""

from __future__ import annotations

from pathlib import Path

from tendon.core.node_status import RecorderStatus
from tendon.data.recording.writer import PART


class EpisodeEnds:
    """Looks at the recorder's statuses, and tells each end once.

    Attributes:
        by_key: the episode that is being recorded was ended by a key; its end needs no words.
    """

    def __init__(self) -> None:
        self.by_key = False
        self._seen: RecorderStatus | None = None

    def look(self, status: RecorderStatus | None) -> str:
        """Returns what to say of an episode that has ended since the last look; empty when there is nothing to say.

        Args:
            status: the recorder's newest; `None` while it is silent.
        """
        before, self._seen = self._seen, status
        if before is None or not before.episode:
            return ""
        if status is not None and status.episode == before.episode:
            return ""
        by_key, self.by_key = self.by_key, False
        return "" if by_key else f"{Path(before.episode).name} was ended by no key here: {_fate(before, status)}"


def _fate(before: RecorderStatus, status: RecorderStatus | None) -> str:
    """Returns what became of an episode, by what its recorder counts and by its file, if that is on this machine."""
    path = Path(before.episode)
    if status is None:
        if path.exists():
            return "the recorder kept it, and is gone"
        if path.with_name(path.name + PART).exists():
            return "the recorder is silent and has not kept it; its next start there gives back what was written"
        return f"the recorder is silent: look for it in {path.parent}"
    if status.kept > before.kept:
        return "it was kept"
    if path.exists():
        return "it was cut, and what was written is given back with outcome incomplete"
    return "it was discarded, or cut with its recorder"

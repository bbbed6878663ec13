"""The mode machine: which mode the graph is in, and who may change it."""

from __future__ import annotations

from collections.abc import Sequence

from tendon.core.causes import Reason, texts_of
from tendon.core.errors import StoppedError
from tendon.core.modes import Mode


class ModeMachine:
    """STANDBY -> ARMED -> RUNNING -> STOPPING -> LATCHED -> STANDBY, and no other way around.

    A stop latches from every mode and always wins. Reset moves nothing and needs the cause gone; arming is a step of
    its own (ISO 13850: reset does not restart). Not thread-safe.
    """

    def __init__(self) -> None:
        self.mode = Mode.STANDBY
        self.reason: Reason | None = None
        """Why it stopped: the first cause; `None` when it did not."""

    def stop(self, reason: Reason) -> None:
        """Begins a stop, or keeps the one that is on."""
        if not self.mode.stopped:
            self.mode, self.reason = Mode.STOPPING, reason

    def rest(self) -> None:
        """Says that the robot's reference is at rest, which completes a stop."""
        if self.mode is Mode.STOPPING:
            self.mode = Mode.LATCHED

    def run(self) -> None:
        """Says that there is a target to follow."""
        if self.mode is Mode.ARMED:
            self.mode = Mode.RUNNING

    def reset(self, causes: Sequence[Reason]) -> None:
        """Leaves a completed stop for standby.

        Args:
            causes: what would stop it again now.

        Raises:
            StoppedError: it is not latched, or a cause is there.
        """
        if self.mode is not Mode.LATCHED:
            raise StoppedError(f"nothing to reset: mode is {self.mode.value}, not latched")
        if causes:
            raise StoppedError(f"reset refused while its cause is there: {texts_of(causes)}")
        self.mode, self.reason = Mode.STANDBY, None

    def arm(self, causes: Sequence[Reason]) -> None:
        """Makes it ready to run.

        Args:
            causes: what would stop it again now.

        Raises:
            StoppedError: it is not in standby, or a cause is there.
        """
        if self.mode is not Mode.STANDBY:
            needs = ": stopped, reset first" if self.mode.stopped else ""
            raise StoppedError(f"arm needs standby, mode is {self.mode.value}{needs}")
        if causes:
            raise StoppedError(f"arm refused: {texts_of(causes)}")
        self.mode = Mode.ARMED

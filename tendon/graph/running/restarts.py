"""How often a process of the graph may die: one rule for `tendon run` and `ros2 launch`."""

from __future__ import annotations

import signal

from tendon.graph.description import EXIT_REFUSED, RESPAWN_LIMIT, RESPAWN_WINDOW_S, Process


class Restarts:
    """Counts the deaths of one process.

    Args:
        process: of the graph.
    """

    def __init__(self, process: Process) -> None:
        self._process = process
        self._deaths: list[float] = []

    def died(self, code: int, now_s: float) -> tuple[str, bool]:
        """Takes a death.

        Args:
            code: exit code of the process; negative is the signal that killed it.
            now_s: a monotonic clock's time.

        Returns:
            how it died, and whether the graph must end: a process that refused its configuration would do so again, one
            that does its work once is not started again, and the others only so often in a while. Of an optional
            process it means that the graph goes on without it.
        """
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
        self._deaths = [death for death in self._deaths if now_s - death < RESPAWN_WINDOW_S] + [now_s]
        if self._process.once or code == EXIT_REFUSED:
            return how, True
        if len(self._deaths) > RESPAWN_LIMIT:
            return f"{how}, for the {len(self._deaths)}th time in {RESPAWN_WINDOW_S:.0f} s", True
        return how, False

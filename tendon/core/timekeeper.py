"""Simulated time: it goes on when everybody who lives by it has done what was due, and never waits for the dead.

A host that pauses or is busy slows this clock and changes nothing else: all ages are measured on it. A process that
has died, is stopped or hangs is given up after a while, so that its absence is noticed as on a real robot: in time.
Who takes part must run as the node that it says it is. No ROS in it.
"""

from __future__ import annotations

import re
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

SECOND_NS = 1_000_000_000
CATCH_UP_NS = 20_000_000
"""How much of its delay the clock makes up for, so that it keeps real time although single ticks are late."""
FACTOR_WINDOW_S = 5.0
PAUSE_S = 0.02
"""How long a clock that is ahead of real time waits at once."""
COMMANDS_S = 1.0
"""Wall time after which a command that was announced and has not arrived counts as lost."""
LOOK_S = 0.02
"""Wall time after which a participant that is missing is looked at in the process table."""
REMEMBERED = 8
"""How many of those that are not waited for are remembered."""
_PARTS = re.compile(r"[\0/.]")
"""What comes between the parts of a command line, its paths and its modules."""


class Life(Enum):
    """What the process table says of a participant; the value is how long [s] the clock still waits for it."""

    GONE = 0.0
    """There is no process of that number, or it is another program."""
    STOPPED = 0.5
    """By SIGSTOP. Whoever pauses a whole graph stops one process after the other: this one may be next."""
    ALIVE = 5.0
    """It may be starved on a busy machine. One that works for longer says so."""


def life(name: str, pid: int) -> Life:
    """Returns what the process table of this machine says of a node's process, whose command line names that node."""
    process = Path(f"/proc/{pid}")
    try:
        command = process.joinpath("cmdline").read_bytes().decode(errors="replace")
        state = process.joinpath("stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return Life.GONE
    if name not in _PARTS.split(command):
        return Life.GONE
    return {"Z": Life.GONE, "X": Life.GONE, "T": Life.STOPPED, "t": Life.STOPPED}.get(state, Life.ALIVE)


@dataclass
class _Participant:
    stamp_ns: int
    commands: int = 0
    waited_s: float = 0.0


class Timekeeper:
    """Owns simulated time. `advance` and `wait` belong to one thread, the rest may be called from any.

    Args:
        start_ns: the first time.
        tick_ns: how far time moves at once.
        speed: largest part of real time, 1 for real time; 0 for as fast as the machine can.
        wall_ns: a monotonic clock of this machine.
        life_of: what is known of a node's process.
    """

    def __init__(
        self,
        start_ns: int,
        tick_ns: int,
        speed: float = 1.0,
        wall_ns: Callable[[], int] = time.monotonic_ns,
        life_of: Callable[[str, int], Life] = life,
    ) -> None:
        self.now_ns = start_ns
        self._tick_ns, self._speed = tick_ns, speed
        self._wall_ns, self._life_of = wall_ns, life_of
        self._changed = threading.Condition()
        self._participants: dict[tuple[str, int], _Participant] = {}
        self._absent: dict[tuple[str, int], Life] = {}
        self._commands: dict[int, int] = {}
        self._commands_waited_s = 0.0
        self._due_ns = wall_ns()
        self._pace: deque[tuple[int, int]] = deque([(self._due_ns, start_ns)])
        self.lost_commands = 0

    def done(self, name: str, pid: int, stamp_ns: int, commands: int = 0) -> None:
        """Takes a participant's word that it has done what was due at a time; from the first on it is waited for.

        An earlier time than now, said again, means that it is at work. Nobody has done what is due later than now, and
        who is no node of that name is not waited for.

        Args:
            name: of the participant.
            pid: of its process.
            stamp_ns: the time it has done with.
            commands: how many commands it sent the robot at that time; they are waited for as well.
        """
        key = name, pid
        with self._changed:
            known = self._participants.get(key)
            if stamp_ns > self.now_ns or (known is not None and stamp_ns < known.stamp_ns):
                return
            if known is None:
                if self._life_of(name, pid) is Life.GONE:
                    self._leave_out(key, Life.GONE)
                    return
                self._absent = {each: why for each, why in self._absent.items() if each[0] != name}
            self._participants[key] = _Participant(stamp_ns=stamp_ns, commands=commands)
            self._changed.notify_all()

    def commanded(self, stamp_ns: int) -> None:
        """Takes note of a command that has arrived for a time; one for later than now is nobody's who lives by it."""
        with self._changed:
            if stamp_ns > self.now_ns:
                return
            self._commands[stamp_ns] = self._commands.get(stamp_ns, 0) + 1
            self._changed.notify_all()

    def advance(self) -> int:
        """Moves time on by a tick and returns it."""
        with self._changed:
            self.now_ns += self._tick_ns
            wall_ns = self._wall_ns()
            if self._speed:
                self._due_ns = max(self._due_ns + round(self._tick_ns / self._speed), wall_ns - CATCH_UP_NS)
            self._pace.append((wall_ns, self.now_ns))
            while wall_ns - self._pace[0][0] > FACTOR_WINDOW_S * SECOND_NS and len(self._pace) > 2:
                self._pace.popleft()
            for participant in self._participants.values():
                participant.waited_s = 0.0
            self._commands_waited_s = 0.0
            self._commands = {stamp: n for stamp, n in self._commands.items() if stamp >= self.now_ns}
            return self.now_ns

    def wait(self, slice_s: float) -> bool:
        """Waits for at most a slice of wall time, or while time is ahead of real time; returns whether it may go on.

        What this process itself slept through counts as one slice at most: when the whole machine stood still,
        nobody else could do anything either.
        """
        begin_ns = self._wall_ns()
        with self._changed:
            pause_s = (self._due_ns - begin_ns) / SECOND_NS if self._speed else 0.0
            if pause_s > 0:
                self._changed.wait(min(pause_s, PAUSE_S))
                return False
            if self._changed.wait_for(self._over, slice_s):
                return True
            waited_s = min((self._wall_ns() - begin_ns) / SECOND_NS, 2 * slice_s)
            self._give_up(waited_s)
            return self._over()

    def _over(self) -> bool:
        return not self._missing() and not self._commands_missing()

    def _missing(self) -> list[tuple[str, int]]:
        return [key for key, each in self._participants.items() if each.stamp_ns < self.now_ns]

    def _commands_missing(self) -> int:
        sent = sum(each.commands for each in self._participants.values() if each.stamp_ns == self.now_ns)
        return max(0, sent - self._commands.get(self.now_ns, 0))

    def _give_up(self, waited_s: float) -> None:
        for key in self._missing():
            participant = self._participants[key]
            participant.waited_s += waited_s
            if participant.waited_s < LOOK_S:
                continue
            found = self._life_of(*key)
            if participant.waited_s > found.value:
                del self._participants[key]
                self._leave_out(key, found)
        if not self._missing() and (missing := self._commands_missing()):
            self._commands_waited_s += waited_s
            if self._commands_waited_s > COMMANDS_S:
                self.lost_commands += missing
                self._commands[self.now_ns] = self._commands.get(self.now_ns, 0) + missing

    def _leave_out(self, key: tuple[str, int], why: Life) -> None:
        self._absent = dict([*self._absent.items(), (key, why)][-REMEMBERED:])

    @property
    def real_time_factor(self) -> float:
        """How fast time went over the last seconds, as a part of real time."""
        with self._changed:
            (first_wall_ns, first_ns), (last_wall_ns, last_ns) = self._pace[0], self._pace[-1]
            wall_ns = max(self._wall_ns(), last_wall_ns) - first_wall_ns
            return (last_ns - first_ns) / wall_ns if wall_ns else 0.0

    def waiting(self) -> str:
        """Returns whom the clock waits for now, with how long; empty while it goes on."""
        with self._changed:
            missing = {key: self._participants[key].waited_s for key in self._missing()}
        return ", ".join(f"{name} for {waited_s:.1f} s" for (name, _), waited_s in missing.items() if waited_s > 1.0)

    def absent(self) -> str:
        """Returns who takes no part, or none any more, and why; empty when nobody."""
        with self._changed:
            return ", ".join(f"{name} (process {pid}: {why.name.lower()})" for (name, pid), why in self._absent.items())

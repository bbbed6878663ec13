"""How much of this machine others take: before a benchmark, to refuse, and during it, to say so."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass

import psutil

MAX_OTHERS = 0.3
"""Cores that all other processes together may take on an idle machine: a desktop and a terminal take 0.1 to 0.2."""
LOOK_S = 1.5
"""How long to look: 150 ticks of the kernel's accounting, so a core's share is known to 0.01."""
NAMED = 3
"""How many of the busiest processes a refusal names."""


@dataclass(frozen=True)
class Others:
    """What others took over some time.

    Attributes:
        cores: of CPU time, 1.0 is one core all of the time.
        steal: share of the machine's time that its host gave to somebody else, 0 to 1.
        busiest: what took most, with its cores, most first. Processes that came and went are not in it.
    """

    cores: float
    steal: float
    busiest: tuple[tuple[str, float], ...] = ()

    @property
    def busy(self) -> bool:
        """Whether a measurement beside them is one of a busy machine."""
        return self.cores > MAX_OTHERS


@dataclass(frozen=True)
class Instant:
    """CPU seconds up to now: of the machine, of this process with all it has started, and of each other process.

    A process is known by its number and its start: a kernel's worker changes its name with its work.
    """

    at_s: float
    worked_s: float
    stolen_s: float
    whole_s: float
    own_s: float
    each_s: dict[tuple[int, float], float]
    names: dict[tuple[int, float], str]


def instant() -> Instant:
    """Reads the counters of /proc."""
    here = psutil.Process()
    own = {here.pid: here} | {child.pid: child for child in here.children(recursive=True)}
    each_s, names, own_s = {}, {}, 0.0
    for process in psutil.process_iter():
        try:
            times = process.cpu_times()
            if process.pid in own:
                # Of children that have ended, too: those that were waited for.
                own_s += times.user + times.system + times.children_user + times.children_system
            else:
                key = process.pid, process.create_time()
                each_s[key], names[key] = times.user + times.system, process.name()
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    machine = psutil.cpu_times()
    return Instant(
        at_s=time.monotonic(),
        worked_s=machine.user + machine.nice + machine.system,
        stolen_s=getattr(machine, "steal", 0.0),
        # A guest's time is in `user` already.
        whole_s=sum(machine) - getattr(machine, "guest", 0.0) - getattr(machine, "guest_nice", 0.0),
        own_s=own_s,
        each_s=each_s,
        names=names,
    )


def others_between(before: Instant, after: Instant) -> Others:
    """Returns what others took between two instants.

    The sum over processes misses those that came and went (a compiler's), the machine's counters are blind in some
    containers: the larger of the two counts.
    """
    wall_s = max(after.at_s - before.at_s, 1e-9)
    cores = {key: (spent - before.each_s.get(key, 0.0)) / wall_s for key, spent in after.each_s.items()}
    unexplained = (after.worked_s - before.worked_s) - (after.own_s - before.own_s)
    busiest = sorted(
        ((f"{after.names[key]} (pid {key[0]})", share) for key, share in cores.items()), key=lambda one: -one[1]
    )
    whole_s = after.whole_s - before.whole_s
    return Others(
        # Reading all of /proc takes a moment on a busy machine, so the sum may come out above what there is.
        cores=min(max(sum(cores.values()), unexplained / wall_s, 0.0), float(os.cpu_count() or 1)),
        steal=(after.stolen_s - before.stolen_s) / whole_s if whole_s > 0 else 0.0,
        busiest=tuple((name, share) for name, share in busiest[:NAMED] if share >= 0.01),
    )


def look(seconds: float = LOOK_S) -> Others:
    """Sleeps and returns what others took meanwhile."""
    before = instant()
    time.sleep(seconds)
    return others_between(before, instant())


def refusal(others: Others) -> str:
    """Returns why a benchmark does not start, and what to do, in a line."""
    most = ", ".join(f"{name} {share:.2f}" for name, share in others.busiest) or "none that this user can see"
    return (
        f"this machine is busy: other processes take {others.cores:.2f} of {os.cpu_count()} cores, at most "
        f"{MAX_OTHERS} are allowed; the busiest: {most}. Stop them, or add --busy, and the rows say so."
    )

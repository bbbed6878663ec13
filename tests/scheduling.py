"""Who of the processes of `make test` runs which file."""

from __future__ import annotations

from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

GRAPHS_AT_ONCE = 3
"""Processes that begin with running graphs. One takes half a processor and waits the rest of its time: on two
processors three of them, beside one that computes, take 330 s, and two 390 s."""


class FromBothEnds(LoadFileScheduling):
    """Files with running graphs, which mostly wait, go to some processes; more begin with the files that compute.

    Files are in the order of `tests/conftest.py`, graphs first. The first processes take them from the front, the
    others from the end: a processor that waits for a graph computes meanwhile.
    """

    def _assign_work_unit(self, node: WorkerController) -> None:
        if node in self.nodes[GRAPHS_AT_ONCE:]:
            self.workqueue.move_to_end(next(reversed(self.workqueue)), last=False)
        super()._assign_work_unit(node)

"""A function of many jobs in several processes. One that is killed is told, and does not leave the others waiting."""

from __future__ import annotations

import contextlib
import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import wait
from multiprocessing.context import SpawnProcess
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from tendon.core.errors import WorkerError
from tendon.core.orphans import clean_up_at_sigterm, deaf_to_interrupts, end_with_parent

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

J = TypeVar("J")
R = TypeVar("R")
IDLE_S, END_S = 0.5, 5.0


def run_in_processes(function: Callable[[J], R], jobs: Sequence[J], workers: int) -> Iterator[R]:
    """Yields what a function makes of each job, see `Workers.run`. Closing it ends the processes at once."""
    with Workers(function, workers) as started:
        yield from started.run(jobs)


class Workers(Generic[J, R]):
    """Processes that keep what they have loaded from one call to the next; a context manager that ends them at once.

    Args:
        function: see `Worker`.
        count: of processes; no more are started than there are jobs.
    """

    def __init__(self, function: Callable[[J], R], count: int) -> None:
        self._function, self._count = function, count
        self._started: list[Worker[J, R]] = []

    def __enter__(self) -> Workers[J, R]:
        """Starts none before there are jobs."""
        return self

    def __exit__(self, *_: object) -> None:
        """Ends them, whatever they do."""
        for worker in self._started:
            worker.connection.close()
        for worker in self._started:
            worker.end()

    def run(self, jobs: Sequence[J]) -> Iterator[R]:
        """Yields what the function makes of each job, as they end, in any order. One call at a time.

        Args:
            jobs: that other processes can be sent.

        Raises:
            WorkerError: a process was killed, as one is that takes too much memory.
            Exception: what the function raised there.
        """
        wanted = min(self._count, len(jobs))
        while len(self._started) < wanted:
            self._started.append(Worker(self._function))
        left, busy = list(reversed(jobs)), dict[object, Worker[J, R]]()
        for worker in self._started[:wanted]:
            worker.take(left.pop())
            busy[worker.connection] = worker
        while busy:
            for connection in wait([worker.connection for worker in busy.values()]):
                worker = busy.pop(connection)
                result = worker.result()
                if left:
                    worker.take(left.pop())
                    busy[worker.connection] = worker
                yield result


class Worker(Generic[J, R]):
    """A process that does one job after the other.

    Args:
        function: of a module, or an object that other processes can be sent.

    Attributes:
        connection: something can be read from it when a job has ended, see `multiprocessing.connection.wait`.
        job: the last one.
    """

    def __init__(self, function: Callable[[J], R]) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, far = context.Pipe()
        self._process: SpawnProcess = context.Process(target=_serve, args=(far, function), daemon=True)
        with deaf_to_interrupts():
            self._process.start()
        far.close()  # its end of file is then that of the process
        self.job: J | None = None

    def take(self, job: J) -> None:
        """Sends a job; a process that is gone is told by `result`."""
        self.job = job
        with contextlib.suppress(OSError):
            self.connection.send(job)

    def result(self) -> R:
        """Returns what became of the job.

        Raises:
            WorkerError: the process was killed.
            Exception: what the function raised there.
        """
        try:
            done, value = self.connection.recv()
        except (EOFError, OSError):
            self._process.join(END_S)
            raise WorkerError(
                f"a worker process ended ({self._process.exitcode}) in {self.job}: was it killed, or was there no "
                "memory? take fewer --workers"
            ) from None
        if not done:
            raise value
        result: R = value
        return result

    def end(self) -> None:
        """Ends the process, whatever it does: one that waits for a job by itself, which leaves no files behind."""
        self.connection.close()
        self._process.join(IDLE_S)
        self._process.terminate()
        self._process.join(END_S)
        if self._process.is_alive():
            self._process.kill()


def _serve(connection: Connection[Any, Any], function: Callable[[J], R]) -> None:
    """Does what is sent until nobody is there."""
    end_with_parent()
    clean_up_at_sigterm()
    while True:
        try:
            job = connection.recv()
        except (EOFError, OSError):
            return
        try:
            answer = (True, function(job))
        except Exception as error:  # whoever asked raises it
            answer = (False, error)  # type: ignore[assignment]
        with contextlib.suppress(OSError):  # nobody is there: the loop ends
            connection.send(answer)

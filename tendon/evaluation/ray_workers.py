"""A function of many jobs on a Ray cluster, or on Ray of this machine where no cluster is named (`RAY_ADDRESS`)."""

from __future__ import annotations

import importlib.util
import logging
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from tendon.core.errors import MissingDependencyError, WorkerError

J = TypeVar("J")
R = TypeVar("R")


def require_ray() -> None:
    """Looks for Ray, whose import takes seconds, without importing it.

    Raises:
        MissingDependencyError: it is not installed.
    """
    if importlib.util.find_spec("ray") is None:
        raise MissingDependencyError("engine ray needs Ray: pip install 'tendon-vla[ray]'")


def run_in_ray(function: Callable[[J], R], jobs: Sequence[J], workers: int) -> Iterator[R]:
    """Yields what a function makes of each job, as they end, in any order. Closing it cancels what is left.

    Bundles, suite files and profiles are named by their paths: a cluster needs them, and Tendon, on every machine.

    Args:
        function: of a module.
        jobs: that other processes can be sent.
        workers: how many at once; Ray of this machine has so many processes.

    Raises:
        MissingDependencyError: Ray is not installed.
        WorkerError: a process of it was killed.
        Exception: what the function raised there.
    """
    ray = _start(workers)
    remote = ray.remote(num_cpus=1, max_retries=0)(_call)
    left, running = list(reversed(jobs)), dict[Any, J]()
    try:
        while left or running:
            while left and len(running) < workers:
                job = left.pop()
                running[remote.remote(function, job)] = job
            ended, _ = ray.wait(list(running), num_returns=1)
            for reference in ended:
                job = running.pop(reference)
                yield _result(ray, reference, job)
    finally:
        for reference in running:
            ray.cancel(reference, force=True)
        ray.shutdown()


def _call(function: Callable[[J], R], job: J) -> tuple[bool, R | Exception]:
    """Runs there; an error is told as it is, not as Ray's own."""
    try:
        return True, function(job)
    except Exception as error:
        return False, error


def _result(ray: Any, reference: Any, job: object) -> Any:
    try:
        done, value = ray.get(reference)
    except ray.exceptions.RayError as error:
        raise WorkerError(f"Ray did not finish {job}: {str(error).splitlines()[0]}") from error
    if not done:
        raise value
    return value


def _start(workers: int) -> Any:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # it would tell its makers of every start
    require_ray()
    import ray

    local = {} if "RAY_ADDRESS" in os.environ else {"num_cpus": workers, "include_dashboard": False}
    ray.init(logging_level=logging.ERROR, log_to_driver=False, **local)
    return ray

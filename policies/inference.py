"""Inference beside the control loop: the newest observation in, chunks out, the delay measured. No ROS in it."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tendon.control.continuation import PlanWindow, continuation
from tendon.core.clock import Clock
from tendon.core.errors import StoppedError
from tendon.core.protocols import Policy
from tendon.core.types import ActionChunk, Array, Observation

FRAME_JITTER_NS = 5_000_000
"""Frames may come this much earlier than a whole number of periods after one another."""

_log = logging.getLogger(__name__)


class DelayEstimator:
    """The delay to plan for: a percentile of the last measured ones. Called from one thread.

    Args:
        window: how many measurements count.
        percentile: of them, 0 to 100.
        warm_up: how many measurements at the start are left out.
    """

    def __init__(self, window: int = 50, percentile: float = 95.0, warm_up: int = 1) -> None:
        self._delays_ns: deque[int] = deque(maxlen=window)
        self._percentile = percentile
        self._skip = warm_up

    def add(self, delay_ns: int) -> None:
        """Takes a measured delay. A negative one (the clock was set back) is left out."""
        if self._skip > 0:
            self._skip -= 1
        elif delay_ns >= 0:
            self._delays_ns.append(delay_ns)

    @property
    def delay_ns(self) -> int | None:
        """The estimate, always one of the measured delays or above; `None` before the first."""
        if not self._delays_ns:
            return None
        return int(np.percentile(self._delays_ns, self._percentile, method="higher"))


@dataclass(frozen=True, kw_only=True)
class InferenceStatus:
    """Where asynchronous inference stands.

    Attributes:
        offered: observations given to it.
        replaced: observations that a newer one replaced before inference began.
        published: chunks published.
        errors: inferences that failed.
        last_error: message of the last one, empty when none failed.
        delay_ns: estimated delay from observation stamp to published chunk; `None` before it is known.
        prefix_rows: frozen rows of the running plan that the last inference was asked to continue.
        prefix_capped: the delay needs more rows than the policy can continue, so chunks may jump.
    """

    offered: int = 0
    replaced: int = 0
    published: int = 0
    errors: int = 0
    last_error: str = ""
    delay_ns: int | None = None
    prefix_rows: int = 0
    prefix_capped: bool = False


class AsyncInference:
    """Runs a policy in its own thread on the newest observation there is, once a period.

    Frozen rows of the prefix of each inference are those of the running plan that will be past when the answer is in
    force: due within the measured delay plus `lead_ns` (real-time chunking, Black et al. 2025). Before a delay is known
    they are as many as the policy allows.

    `plan_window`, `publish` and `on_error` are called from the inference thread.

    Args:
        policy: called from the inference thread only.
        clock: of the observation stamps.
        step_ns: time between rows of the policy's chunks.
        period_ns: time between the observations taken. A policy that replans at every step puts off what it
            is unsure of, such as closing the gripper, for ever: it has to carry out a part of its plan.
        prefix_rows: most frozen rows the policy can continue.
        overlap_rows: rows after the frozen ones that it can be led by.
        plan_window: the running plan, such as `Executor.window`.
        tolerance: (n,) how far the robot may be from that plan for it to be continued, see `continuation`.
        publish: takes each chunk.
        on_error: takes each exception of the policy or of `publish`.
        lead_ns: how far ahead of now the control loop has committed its reference, and the way of the chunk to it.
        estimator: of the delay.
    """

    def __init__(
        self,
        policy: Policy,
        clock: Clock,
        *,
        step_ns: int,
        period_ns: int,
        prefix_rows: int,
        plan_window: PlanWindow,
        tolerance: Array,
        publish: Callable[[ActionChunk], None],
        on_error: Callable[[Exception], None],
        lead_ns: int = 0,
        overlap_rows: int = 0,
        estimator: DelayEstimator | None = None,
    ) -> None:
        self._policy = policy
        self._clock = clock
        self._step_ns, self._period_ns = step_ns, period_ns
        self._max_prefix_rows = prefix_rows
        self._plan_window, self._tolerance = plan_window, tolerance
        self._publish = publish
        self._on_error = on_error
        self._lead_ns = lead_ns
        self._overlap_rows = overlap_rows
        self._estimator = estimator or DelayEstimator()
        self._changed = threading.Condition()
        self._waiting: Observation | None = None
        self._closing = False
        self._thread: threading.Thread | None = None
        self._counts = {"offered": 0, "replaced": 0, "published": 0, "errors": 0}
        self._last_error = ""
        self._prefix = (0, False)
        self._taken: Observation | None = None

    def start(self) -> None:
        """Starts the thread.

        Raises:
            StoppedError: it was started before.
        """
        if self._thread is not None:
            raise StoppedError("inference was started before: make a new AsyncInference")
        self._thread = threading.Thread(target=self._loop, name="inference", daemon=True)
        self._thread.start()

    def offer(self, observation: Observation) -> None:
        """Gives it an observation; the newest wins. Never waits for the policy. Any thread."""
        with self._changed:
            self._counts["offered"] += 1
            self._counts["replaced"] += self._waiting is not None
            self._waiting = observation
            self._changed.notify()

    def status(self) -> InferenceStatus:
        """Returns counts and the delay. Any thread."""
        with self._changed:
            rows, capped = self._prefix
            return InferenceStatus(
                **self._counts,
                last_error=self._last_error,
                delay_ns=self._estimator.delay_ns,
                prefix_rows=rows,
                prefix_capped=capped,
            )

    def close(self, timeout_s: float = 2.0) -> bool:
        """Ends the thread after the inference it is in, whose chunk is not published.

        Returns:
            Whether it ended in time; a thread that did not is a daemon and dies with the process.
        """
        with self._changed:
            self._closing = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join(timeout_s)
            return not self._thread.is_alive()
        return True

    def _loop(self) -> None:
        while (observation := self._take()) is not None:
            try:
                self._infer(observation)
            except Exception as error:  # the top of this thread: one bad inference must not end all later ones
                with self._changed:
                    self._counts["errors"] += 1
                    self._last_error = f"{type(error).__name__}: {error}"
                self._report(error)

    def _take(self) -> Observation | None:
        with self._changed:
            self._changed.wait_for(lambda: self._due() or self._closing)
            observation, self._waiting = self._waiting, None
            if self._closing or observation is None:
                return None
            self._taken = observation
            return observation

    def _due(self) -> bool:
        """Returns whether the waiting observation is a period from the last one taken, or has another instruction.

        One that is not stays until a newer replaces it. A stamp far back is a clock that was set back.
        """
        if self._waiting is None or self._taken is None:
            return self._waiting is not None
        new_task = self._waiting.instruction != self._taken.instruction
        return new_task or abs(self._waiting.stamp_ns - self._taken.stamp_ns) >= self._period_ns - FRAME_JITTER_NS

    def _report(self, error: Exception) -> None:
        try:
            self._on_error(error)
        except Exception:  # a broken reporter is worth a log line, not the thread
            _log.exception("on_error failed")

    def _infer(self, observation: Observation) -> None:
        rows, capped = self._prefix_rows()
        prefix = continuation(self._plan_window, observation, self._step_ns, rows + self._overlap_rows, self._tolerance)
        frozen = 0 if prefix is None else min(rows, len(prefix.actions))
        with self._changed:
            self._prefix = (frozen, capped)
        chunk = self._policy.infer(observation, prefix, frozen)
        if self._closing:
            return
        self._publish(chunk)
        with self._changed:
            self._counts["published"] += 1
            self._estimator.add(self._clock.now_ns() - observation.stamp_ns)

    def _prefix_rows(self) -> tuple[int, bool]:
        delay_ns = self._estimator.delay_ns
        if delay_ns is None:
            return self._max_prefix_rows, False
        wanted = -(-(delay_ns + self._lead_ns) // self._step_ns)
        return min(wanted, self._max_prefix_rows), wanted > self._max_prefix_rows

"""Inference beside the control loop: the newest observation in, chunks out, the delay measured. No ROS in it."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from tendon.control.continuation import PlanWindow
from tendon.core.clock import Clock
from tendon.core.errors import StoppedError
from tendon.core.protocols import Policy
from tendon.core.types import ActionChunk, Array, Observation
from tendon.policies.inference.delay import DelayEstimator
from tendon.policies.inference.schedule import InferenceStatus, Schedule

INFERENCE_THREAD = "inference"

_log = logging.getLogger(__name__)


class AsyncInference:
    """Runs a policy in its own thread on the newest observation there is, once a period: a `Scheduler`.

    `plan_window`, `publish`, `on_error` and `on_done` are called from the inference thread.

    On a simulated clock an inference takes as long as is stated, whatever the machine needs for it: its chunk is
    published when that has passed, and `holds` says when the clock has to wait for it.

    Args:
        policy: called from the inference thread only.
        clock: of the observation stamps.
        plan_window, tolerance, rest_speed, lead_ns: see `Schedule`.
        publish: takes each chunk, and the policy that made it.
        on_error: takes each exception of the policy or of `publish`.
        estimator: of the delay.
        stated_ns: what an inference takes on this clock; `None` for what it really takes.
        on_done: called after each inference, with its chunk published or not.
    """

    def __init__(
        self,
        policy: Policy,
        clock: Clock,
        *,
        plan_window: PlanWindow,
        tolerance: Array,
        rest_speed: Array,
        publish: Callable[[ActionChunk, Policy], None],
        on_error: Callable[[Exception], None],
        lead_ns: int = 0,
        estimator: DelayEstimator | None = None,
        stated_ns: int | None = None,
        on_done: Callable[[], None] = lambda: None,
    ) -> None:
        self._schedule = Schedule(
            policy, plan_window=plan_window, tolerance=tolerance, rest_speed=rest_speed, lead_ns=lead_ns
        )
        self._clock = clock
        self._publish = publish
        self._on_error = on_error
        self._stated_ns, self._on_done = stated_ns, on_done
        self._promised_ns: int | None = None
        self._estimator = estimator or DelayEstimator()
        self._changed = threading.Condition()
        self._waiting: Observation | None = None
        self._closing = False
        self._thread: threading.Thread | None = None
        self._counts = {"offered": 0, "replaced": 0, "published": 0, "errors": 0}
        self._last_error = ""
        self._prefix = (0, False)
        self._began_ns: int | None = None

    def start(self) -> None:
        """Starts the thread.

        Raises:
            StoppedError: it was started before.
        """
        if self._thread is not None:
            raise StoppedError("inference was started before: make a new AsyncInference")
        self._thread = threading.Thread(target=self._loop, name=INFERENCE_THREAD, daemon=True)
        self._thread.start()

    def use(self, policy: Policy, estimator: DelayEstimator, stated_ns: int | None = None) -> None:
        """Changes the policy: the next inference is its, at once, and continues the running plan. Any thread.

        The inference that runs is finished, and its chunk is published, by the policy before.
        """
        with self._changed:
            self._schedule.use(policy)
            self._estimator, self._stated_ns = estimator, stated_ns
            self._promise()
            self._changed.notify()

    def replan_now(self) -> None:
        """Makes the next observation due, whenever the last one was, and forgets one that waits. Any thread."""
        with self._changed:
            self._schedule.replan_now()
            self._counts["replaced"] += self._waiting is not None
            self._waiting = None

    def offer(self, observation: Observation) -> None:
        """Gives it an observation; the newest wins. Never waits for the policy. Any thread."""
        with self._changed:
            self._counts["offered"] += 1
            self._counts["replaced"] += self._waiting is not None
            self._waiting = observation
            self._promise()
            self._changed.notify()

    def holds(self, now_ns: int) -> bool:
        """Returns whether an inference was to be over by now and is not. Any thread."""
        with self._changed:
            return self._promised_ns is not None and now_ns >= self._promised_ns

    def _promise(self) -> None:
        """Sets when the inference that begins now will be over."""
        if self._stated_ns is not None and self._promised_ns is None and self._due():
            self._promised_ns = self._clock.now_ns() + self._stated_ns

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
                running_ns=0 if self._began_ns is None else time.monotonic_ns() - self._began_ns,
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
            with self._changed:
                self._promised_ns = self._began_ns = None
                self._promise()
            self._on_done()

    def _take(self) -> Observation | None:
        with self._changed:
            self._changed.wait_for(lambda: self._due() or self._closing)
            self._promise()
            observation, self._waiting = self._waiting, None
            if self._closing or observation is None:
                return None
            self._schedule.take(observation)
            self._began_ns = time.monotonic_ns()
            return observation

    def _due(self) -> bool:
        """Returns whether the waiting observation is due; one that is not stays until a newer replaces it."""
        waiting = self._waiting
        return waiting is not None and self._schedule.due(waiting.stamp_ns, waiting.instruction)

    def _report(self, error: Exception) -> None:
        try:
            self._on_error(error)
        except Exception:  # a broken reporter is worth a log line, not the thread
            _log.exception("on_error failed")

    def _infer(self, observation: Observation) -> None:
        with self._changed:
            policy, estimator = self._schedule.policy, self._estimator
        prefix = self._schedule.prefix(policy, observation, estimator.delay_ns)
        with self._changed:
            self._prefix = (prefix.frozen, prefix.capped)
        chunk = policy.infer(observation, prefix.rows, prefix.frozen)
        with self._changed:
            self._began_ns = None  # simulated time may stand still from here on
        if self._promised_ns is not None:
            self._clock.sleep_until_ns(self._promised_ns)
        if self._closing:
            return
        with self._changed:
            placed = self._schedule.place(chunk, prefix, self._clock.now_ns())
        self._publish(placed, policy)
        with self._changed:
            self._counts["published"] += 1
            estimator.add(self._clock.now_ns() - observation.stamp_ns)

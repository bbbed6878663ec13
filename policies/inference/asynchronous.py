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

INFERENCE_THREAD = "inference"

_log = logging.getLogger(__name__)


class DelayEstimator:
    """The delay to plan for: a percentile of the last measured ones. Called from one thread.

    Args:
        window: how many measurements count.
        percentile: of them, 0 to 100.
        warm_up: how many measurements at the start are left out.
        expected_ns: the estimate before the first measurement, such as what a run of the policy took when it was
            warmed up; `None` when nothing is known.
    """

    def __init__(
        self, window: int = 50, percentile: float = 95.0, warm_up: int = 1, expected_ns: int | None = None
    ) -> None:
        self._delays_ns: deque[int] = deque(maxlen=window)
        self._percentile = percentile
        self._skip = warm_up
        self._expected_ns = expected_ns

    def add(self, delay_ns: int) -> None:
        """Takes a measured delay. A negative one (the clock was set back) is left out."""
        if self._skip > 0:
            self._skip -= 1
        elif delay_ns >= 0:
            self._delays_ns.append(delay_ns)

    @property
    def delay_ns(self) -> int | None:
        """The estimate, always one of the measured delays or above; what was expected before the first."""
        if not self._delays_ns:
            return self._expected_ns
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

    `plan_window`, `publish`, `on_error` and `on_done` are called from the inference thread.

    On a simulated clock an inference takes as long as is stated, whatever the machine needs for it: its chunk is
    published when that has passed, and `holds` says when the clock has to wait for it.

    Args:
        policy: called from the inference thread only.
        clock: of the observation stamps.
        replan_steps: steps of a chunk between the observations taken. A policy that replans at every step puts off
            what it is unsure of, such as closing the gripper, for ever: it has to carry out a part of its plan.
        plan_window: the running plan, such as `Executor.window`.
        tolerance: (n,) how far the robot may be from that plan for it to be continued, see `continuation`.
        publish: takes each chunk, and the policy that made it.
        on_error: takes each exception of the policy or of `publish`.
        lead_ns: how far ahead of now the control loop has committed its reference, and the way of the chunk to it.
        estimator: of the delay.
        stated_ns: what an inference takes on this clock; `None` for what it really takes.
        on_done: called after each inference, with its chunk published or not.
    """

    def __init__(
        self,
        policy: Policy,
        clock: Clock,
        *,
        replan_steps: int,
        plan_window: PlanWindow,
        tolerance: Array,
        publish: Callable[[ActionChunk, Policy], None],
        on_error: Callable[[Exception], None],
        lead_ns: int = 0,
        estimator: DelayEstimator | None = None,
        stated_ns: int | None = None,
        on_done: Callable[[], None] = lambda: None,
    ) -> None:
        self._policy = policy
        self._clock = clock
        self._replan_steps = replan_steps
        self._plan_window, self._tolerance = plan_window, tolerance
        self._publish = publish
        self._on_error = on_error
        self._lead_ns = lead_ns
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
        self._taken: Observation | None = None

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
            self._policy, self._estimator, self._taken, self._stated_ns = policy, estimator, None, stated_ns
            self._changed.notify()

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
                self._promised_ns = None
                self._promise()
            self._on_done()

    def _take(self) -> Observation | None:
        with self._changed:
            self._changed.wait_for(lambda: self._due() or self._closing)
            self._promise()
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
        period_ns = self._replan_steps * self._policy.step_ns
        new_task = self._waiting.instruction != self._taken.instruction
        return new_task or abs(self._waiting.stamp_ns - self._taken.stamp_ns) >= period_ns - FRAME_JITTER_NS

    def _report(self, error: Exception) -> None:
        try:
            self._on_error(error)
        except Exception:  # a broken reporter is worth a log line, not the thread
            _log.exception("on_error failed")

    def _infer(self, observation: Observation) -> None:
        with self._changed:
            policy, estimator = self._policy, self._estimator
        rows, capped = self._prefix_rows(policy, estimator)
        led = rows + policy.overlap_rows
        prefix = continuation(self._plan_window, observation, policy.step_ns, led, self._tolerance)
        frozen = 0 if prefix is None else min(rows, len(prefix.actions))
        with self._changed:
            self._prefix = (frozen, capped)
        chunk = policy.infer(observation, prefix, frozen)
        if self._promised_ns is not None:
            self._clock.sleep_until_ns(self._promised_ns)
        if self._closing:
            return
        self._publish(chunk, policy)
        with self._changed:
            self._counts["published"] += 1
            estimator.add(self._clock.now_ns() - observation.stamp_ns)

    def _prefix_rows(self, policy: Policy, estimator: DelayEstimator) -> tuple[int, bool]:
        delay_ns = estimator.delay_ns
        if delay_ns is None:
            return policy.prefix_rows, False
        wanted = -(-(delay_ns + self._lead_ns) // policy.step_ns)
        return min(wanted, policy.prefix_rows), wanted > policy.prefix_rows

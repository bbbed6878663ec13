"""Policies at work on one robot: task, change of policy, interruption, steering, and what the detector says. No ROS."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Generic

from tendon.core.errors import ConfigError, InstructionError
from tendon.core.protocols import Policy
from tendon.core.types import ActionChunk, Observation
from tendon.policies.detector.detector import Assessment
from tendon.policies.inference.finish import Finish
from tendon.policies.inference.loaded import Loaded, P
from tendon.policies.inference.plan import RunningPlan
from tendon.policies.inference.policy import Inference
from tendon.policies.inference.schedule import Scheduler
from tendon.policies.spec.tokens import words as spoken
from tendon.safety.response import Response

INTERRUPTIONS = ("stop", "halt", "wait", "hold", "pause")
"""Words that are no task: the robot comes to rest at once and stays armed."""
ALWAYS = ("stop", "halt")
"""With these every instruction that begins so is an interruption."""
BESIDE = ("now", "please", "ok", "okay", "no", "just", "it", "on", "there", "that", "still", "a", "moment", "second")
"""Words that may stand beside an interruption, and are none of a task alone."""
SLOWED_NS = 500_000_000
"""How long after the robot was slowed or held its plans may be late."""


class Heard(Enum):
    """What became of words for the robot."""

    TASK = "the task from now on"
    REFUSED = "words that the policy does not know: the task before is dropped too"
    INTERRUPTION = "one of `INTERRUPTIONS`"


@dataclass(frozen=True, kw_only=True, eq=False)
class Answer(Generic[P]):
    """A chunk that is handed out.

    Attributes:
        chunk: part of the running plan already, unless the robot is held.
        policy: made it.
        now_ns: when.
        detector_ns: what the detector took for it; `None` without a detector.
    """

    chunk: ActionChunk
    policy: P
    now_ns: int
    detector_ns: int | None


class PolicySession(Generic[P]):
    """Asks a policy while the robot follows it and has a task, and adds its chunks to the running plan.

    When an inference is due, and what it continues, says the `Schedule` of the scheduler; who computes it, and how long
    that takes, is the scheduler's own affair. `deliver` is called by the scheduler, from its thread; all else by one.

    Args:
        loaded: policies, each with a name of its own; the first one runs.
        plan: what chunks are added to, and what inferences continue.
        now_ns: the time now, on the clock of the observations.
        publish: takes each chunk after it became part of the plan; called from the scheduler's thread.
        on_response: called there when the detector changes its mind, before the chunk is handed out.

    Attributes:
        rests: whether the robot rests once its task is done.

    Raises:
        ConfigError: two policies have one name.
    """

    def __init__(
        self,
        loaded: Sequence[Loaded[P]],
        plan: RunningPlan,
        now_ns: Callable[[], int],
        *,
        publish: Callable[[Answer[P]], None] = lambda _: None,
        on_response: Callable[[], None] = lambda: None,
    ) -> None:
        names = [each.name for each in loaded]
        if len(set(names)) < len(names):
            raise ConfigError(f"policy and standby are both called {names[0]}: give one another name in bundle.yaml")
        self.loaded = tuple(loaded)
        self._active = self.loaded[0]
        self._plan, self._now_ns = plan, now_ns
        self._publish, self._on_response = publish, on_response
        self._scheduler: Scheduler | None = None
        self._armed = self._held = False
        self._led, self._held_ns = True, 0
        self._task: str | None = None
        self.rests, self._finish = True, Finish()
        self._refusal = ""
        self._assessed: tuple[Loaded[P], Assessment] | None = None
        self._watching, self._slowed_ns = False, -SLOWED_NS

    @property
    def active(self) -> Loaded[P]:
        """The policy that is asked."""
        return self._active

    @property
    def armed(self) -> bool:
        """Whether the robot may move by this session's chunks."""
        return self._armed

    @property
    def instruction(self) -> str:
        """The task; empty without one."""
        return self._task or ""

    @property
    def done(self) -> bool:
        """Whether the task is done by the policy's own estimate, so that nothing is asked for it any more: `Finish`."""
        return self.rests and self._finish.done

    @property
    def refusal(self) -> str:
        """Why the last words were no task; empty when they were."""
        return self._refusal

    @property
    def assessment(self) -> Assessment | None:
        """What the detector made of the last inference of this run, by the policy that is asked."""
        maker, assessment = self._assessed or (None, None)
        return assessment if maker is self._active else None

    @property
    def response(self) -> Response:
        """What the detector asks for; without an assessment of this run, nothing is held against the policy."""
        assessment = self.assessment
        return assessment.response if assessment and self._armed else Response.FULL

    def start(self, scheduler: Scheduler) -> None:
        """Has a scheduler compute the inferences from now on."""
        self._scheduler = scheduler
        self._use_active(scheduler)

    def _use_active(self, scheduler: Scheduler) -> None:
        active = self._active
        scheduler.use(active.policy, active.estimator(), active.stated_ns)

    def offer(self, observation: Observation) -> None:
        """Shows all policies what the robot sees, and asks the one that runs if it may lead and has a task."""
        for each in self.loaded:
            each.policy.observe(observation)
        asks = self._task is not None and not self.done and self._armed and self._led
        if self._scheduler is not None and asks and not self._outdated(observation.stamp_ns):
            self._scheduler.offer(observation)

    def permit(self, armed: bool, speed: float, led: bool = True) -> None:
        """Says whether the robot may move by this session's chunks, and how.

        While it is held nothing of what it is sent becomes its plan, and when it may go on it is asked about anew.

        Args:
            armed: whether it may move.
            speed: with which part of its speed; 0 holds it.
            led: whether it follows these chunks. Else it settles after it was armed, or is somebody else's: this
                session is asked for none, and to it the robot is held.
        """
        now_ns = self._now_ns()
        if speed < 1.0:
            self._slowed_ns = now_ns
        held, self._held = self._held, armed and (speed == 0.0 or not led)
        if self._held:
            self._plan.clear()
        if (self._held and not held) or not (led and self._led):
            self._held_ns = now_ns
        if held and not self._held and armed and self._scheduler is not None:
            self._scheduler.replan_now()
        if (armed, led) != (self._armed, self._led):
            self._assessed, self._watching = None, False  # what was held against it before does not count now
            self._finish.begin(now_ns)
        self._armed, self._led = armed, led
        if not armed:
            self._plan.clear()

    def instruct(self, words: str) -> Heard:
        """Takes words from a person: a task that the policy knows, or an interruption; an empty text drops the task."""
        said = list(itertools.dropwhile(BESIDE.__contains__, spoken(words)))
        if said and (said[0] in ALWAYS or (said[0] in INTERRUPTIONS and set(said) <= {*INTERRUPTIONS, *BESIDE})):
            self._interrupt()
            return Heard.INTERRUPTION
        if not said and words:
            self.follow(None, f"there is no task in {words!r}")
            return Heard.REFUSED
        try:
            self._active.policy.check_instruction(words)
        except InstructionError as error:
            self.follow(None, str(error))
            return Heard.REFUSED
        self.follow(words or None)
        return Heard.TASK

    def follow(self, task: str | None, refusal: str = "") -> None:
        """Takes a task as it stands, even an empty one, which is the control run of an evaluation; `None` drops it.

        Args:
            task: in words.
            refusal: why there is none.
        """
        self._task, self._refusal = task, refusal
        self._finish.begin(self._now_ns())

    def _interrupt(self) -> None:
        """Drops the task and the plan: the robot comes to rest now, still armed; a new task goes on from there."""
        self.follow(None)
        self._plan.clear()

    def select(self, name: str) -> bool:
        """Changes the policy; its first chunk continues the running plan.

        Returns:
            Whether it is another one than before.

        Raises:
            ConfigError: there is none of that name.
            InstructionError: it does not know the task.
        """
        wanted = next((each for each in self.loaded if each.name == name), None)
        if wanted is None:
            known = ", ".join(each.name for each in self.loaded)
            raise ConfigError(f"there is no policy {name!r} here, loaded are: {known}")
        if self._task:
            wanted.policy.check_instruction(self._task)
        if wanted is self._active:
            return False
        self._active, self._watching, self._assessed = wanted, False, None
        self._finish.begin(self._now_ns())
        if self._scheduler is not None:
            self._use_active(self._scheduler)
        return True

    def steer(self, name: str, value: float) -> None:
        """Steers every policy that is loaded and has that number.

        Raises:
            ConfigError: none of them has it, or the value does not fit all that have it; nothing is changed then.
        """
        steered = [each.policy for each in self.loaded if name in each.policy.steering] or [self._active.policy]
        for policy in steered:
            policy.check_steering(name, value)
        for policy in steered:
            policy.steer(name, value)

    def deliver(self, chunk: ActionChunk, policy: Policy) -> None:
        """Adds a chunk to the running plan and hands it out, unless robot or task were stopped meanwhile.

        One that was asked for before a hold, or while another led, is of a robot that was elsewhere, and is dropped.

        Raises:
            ConfigError: the policy has a detector, but its graph does not tell its embedding.
        """
        maker = next(each for each in self.loaded if each.policy is policy)
        if not self._armed or self._task is None or self._outdated(chunk.observation_stamp_ns):
            return
        detector_ns = self._assess(chunk, maker) if maker is self._active else None
        now_ns = self._now_ns()
        if maker is self._active:
            self._look_whether_done(chunk, now_ns)
        self._plan.submit(chunk, now_ns)
        if self._held:
            self._plan.clear()
        self._publish(Answer(chunk=chunk, policy=maker.policy, now_ns=now_ns, detector_ns=detector_ns))

    def _look_whether_done(self, chunk: ActionChunk, now_ns: int) -> None:
        """Takes the estimate that came with a chunk; nothing is held against a policy whose task is done."""
        progress = None if chunk.features is None else chunk.features.progress
        self._finish.look(progress, chunk.observation_stamp_ns, now_ns)
        if self.done and self._assessed is not None:
            self._assessed, self._watching = None, False
            self._on_response()

    def _outdated(self, stamp_ns: int) -> bool:
        """Returns whether an observation is from before; not by a clock that was set back since."""
        if self._now_ns() < self._held_ns:
            self._held_ns = 0
        return stamp_ns <= self._held_ns

    def _assess(self, chunk: ActionChunk, maker: Loaded[P]) -> int | None:
        """Lets the detector look at the inference, before its chunk goes out: a fault in here stops the policy."""
        last, detector = maker.policy.last, maker.detector
        if detector is None or not isinstance(last, Inference):
            return None
        if last.embedding is None:
            raise ConfigError("the bundle has a detector, but its graph does not tell its embedding: export it again")
        begin_ns = time.perf_counter_ns()
        if not self._watching:
            detector.reset()
            self._watching = True
        assessment = detector.update(
            start_ns=chunk.start_ns,
            step_ns=chunk.step_ns,
            targets=last.targets,
            given=last.given_rows,
            embedding=last.embedding,
            instruction=last.instruction,
            slowed=self._now_ns() - self._slowed_ns < SLOWED_NS,
        )
        took_ns = time.perf_counter_ns() - begin_ns
        before, self._assessed = self.assessment, (maker, assessment)
        if assessment.response is not (before.response if before else Response.FULL):
            self._on_response()
        return took_ns

"""A session asks the right policy at the right time, and hands out nothing that is not wanted any more. No ROS."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pytest

from tendon.core.clock import ManualClock
from tendon.core.errors import ConfigError, InstructionError
from tendon.core.pace import USUAL, Pace
from tendon.core.types import ActionChunk, Features, Observation
from tendon.policies.detector.detector import Calibration, Detector
from tendon.policies.inference.asynchronous import AsyncInference
from tendon.policies.inference.delay import DelayEstimator
from tendon.policies.inference.finish import DONE, DONE_NS
from tendon.policies.inference.loaded import Loaded
from tendon.policies.inference.plan import PlanCopy
from tendon.policies.inference.policy import Inference
from tendon.policies.inference.session import INTERRUPTIONS, Answer, Heard, PolicySession
from tendon.policies.inference.stepped import SteppedInference
from tendon.safety.response import Response

STEP_NS, ROWS, LEAD_NS, DELAY_NS = 100_000_000, 8, 40_000_000, 50_000_000
EMBEDDING = 6
WAIT_S = 5.0


@dataclass
class Asked:
    """What a policy was asked."""

    stamp_ns: int
    instruction: str
    prefix_rows: int
    frozen: int | None


@dataclass(eq=False)
class WordyPolicy:
    """Knows some words, is steered by some numbers, and holds joint 0 at `level`."""

    level: float = 0.0
    words: tuple[str, ...] = ("left", "right")
    steering: Mapping[str, float] = field(default_factory=dict)
    last: Inference | None = None
    step_ns: int = STEP_NS
    prefix_rows: int = 3
    overlap_rows: int = 0
    pace: Pace = USUAL
    progress: float | None = None
    asked: list[Asked] = field(default_factory=list)
    observed: list[int] = field(default_factory=list)

    def check_instruction(self, instruction: str) -> None:
        if instruction and instruction not in self.words:
            raise InstructionError(f"does not know {instruction!r}")

    def check_steering(self, name: str, value: float) -> None:
        if name not in self.steering or abs(value) > 1.0:
            raise ConfigError(f"{name} cannot be {value}")

    def steer(self, name: str, value: float) -> None:
        self.steering = {**self.steering, name: value}

    def observe(self, observation: Observation) -> None:
        self.observed.append(observation.stamp_ns)

    def infer(
        self, observation: Observation, prefix: ActionChunk | None = None, frozen: int | None = None
    ) -> ActionChunk:
        rows = 0 if prefix is None else len(prefix.actions)
        self.asked.append(Asked(observation.stamp_ns, observation.instruction, rows, frozen))
        return ActionChunk(
            actions=np.full((ROWS, 2), self.level),
            start_ns=observation.stamp_ns + self.step_ns,
            step_ns=self.step_ns,
            observation_stamp_ns=observation.stamp_ns,
            features=Features(policy="wordy", embedding=np.zeros(0), points=np.zeros((0, 3)), progress=self.progress),
        )


class Rig:
    """A session in simulated time; each `run` is one observation, a step after the last."""

    def __init__(self, *policies: WordyPolicy, detector: Detector | None = None) -> None:
        self.clock, self.plan = ManualClock(10**9), PlanCopy(2, LEAD_NS, 10**9)
        self.policies = policies or (WordyPolicy(),)
        loaded = [Loaded(name=f"p{k}", policy=policy, detector=detector) for k, policy in enumerate(self.policies)]
        self.events: list[Answer[WordyPolicy] | Response] = []
        self.session = PolicySession(
            loaded,
            self.plan,
            self.clock.now_ns,
            publish=self.events.append,
            on_response=lambda: self.events.append(self.session.response),
        )
        self.inference = SteppedInference(
            self.policies[0],
            delay_ns=DELAY_NS,
            plan_window=self.plan.window,
            tolerance=np.full(2, 0.1),
            rest_speed=np.full(2, 0.05),
            lead_ns=LEAD_NS,
            publish=self.session.deliver,
        )
        self.session.start(self.inference)

    @property
    def answers(self) -> list[Answer[WordyPolicy]]:
        return [event for event in self.events if isinstance(event, Answer)]

    def offer(self) -> None:
        self.clock.advance_ns(STEP_NS - DELAY_NS)
        zero = np.zeros(2)
        self.session.offer(
            Observation(
                stamp_ns=self.clock.now_ns(),
                joint_position=zero,
                joint_velocity=zero,
                instruction=self.session.instruction,
            )
        )

    def finish(self) -> None:
        self.clock.advance_ns(DELAY_NS)
        self.inference.advance(self.clock.now_ns())

    def run(self, count: int = 1) -> None:
        for _ in range(count):
            self.offer()
            self.finish()

    def begin(self, task: str = "left") -> None:
        """Arms, instructs and gets the first chunk."""
        self.session.permit(armed=True, speed=1.0)
        assert self.session.instruct(task) is Heard.TASK
        self.run()
        assert len(self.answers) == 1

    def planned(self) -> bool:
        return self.plan.window(self.clock.now_ns() + STEP_NS, STEP_NS, 1) is not None


class TestDone:
    """A policy that estimates its progress is asked nothing more once its task is done, until there is another."""

    ENOUGH = DONE_NS // STEP_NS + 4

    def done(self, **policy: float) -> Rig:
        it = Rig(WordyPolicy(**policy))  # type: ignore[arg-type]
        it.begin()
        it.run(self.ENOUGH)
        return it

    def test_the_robot_rests(self) -> None:
        """It drifted for a minute, until its failure detector latched it, or undid what it had done."""
        it = self.done(progress=DONE)
        asked = len(it.policies[0].asked)
        assert it.session.done and it.session.instruction == "left" and asked < self.ENOUGH
        it.run(self.ENOUGH)
        assert len(it.policies[0].asked) == asked and not it.planned()

    @pytest.mark.parametrize("policy", [{}, {"progress": DONE - 0.01}])
    def test_one_that_tells_nothing_or_less_is_asked_on(self, policy: Mapping[str, float]) -> None:
        it = self.done(**policy)
        assert not it.session.done and it.planned()

    def test_one_that_tries_again_is_asked_on(self) -> None:
        it = Rig(WordyPolicy(progress=0.9))
        it.begin()
        for _ in range(4):
            it.run(self.ENOUGH // 2)
            it.policies[0].progress = 0.5
            it.run(4)
            it.policies[0].progress = 0.9
        assert not it.session.done

    def test_another_task_the_same_again_a_new_arming_and_a_hand_that_gives_back_make_it_look_anew(self) -> None:
        def armed_again(session: PolicySession[WordyPolicy]) -> None:
            session.permit(armed=False, speed=1.0)
            session.permit(armed=True, speed=1.0)

        def given_back(session: PolicySession[WordyPolicy]) -> None:
            session.permit(armed=True, speed=1.0, led=False)
            session.permit(armed=True, speed=1.0, led=True)

        for anew in (lambda s: s.instruct("right"), lambda s: s.instruct("left"), armed_again, given_back):
            it = self.done(progress=0.9)
            asked = len(it.policies[0].asked)
            anew(it.session)
            it.run(3)
            assert not it.session.done and len(it.policies[0].asked) > asked and it.planned()

    def test_a_policy_that_is_switched_to_is_asked(self) -> None:
        """It was said to be done, whatever it estimated."""
        it = Rig(WordyPolicy(progress=0.9), WordyPolicy(progress=0.1))
        it.begin()
        it.run(self.ENOUGH)
        assert it.session.done and it.session.select("p1")
        it.run(self.ENOUGH)
        assert not it.session.done and it.policies[1].asked and it.planned()

    def test_what_was_asked_for_the_task_before_says_nothing_of_the_next(self) -> None:
        """With an inference of 4.5 s the first estimate of a task was enough."""
        it = self.done(progress=0.9)
        it.session.instruct("right")
        it.run()
        late = it.answers[-1].chunk
        it.session.instruct("left")
        begun_ns = it.clock.now_ns()
        it.session.deliver(late, it.policies[0])
        while not it.session.done:
            it.run()
        assert it.clock.now_ns() - begun_ns > DONE_NS

    def test_only_the_last_seconds_count_when_it_is_told_to_rest(self) -> None:
        it = Rig(WordyPolicy(progress=0.9))
        it.session.rests = False
        it.begin()
        it.run(self.ENOUGH)
        it.policies[0].progress = 0.1
        it.run(4)
        it.session.rests = True
        assert not it.session.done

    def test_words_that_are_refused_are_not_done(self) -> None:
        it = self.done(progress=0.9)
        assert it.session.instruct("sideways") is Heard.REFUSED
        assert not it.session.done and it.session.refusal

    def test_it_need_not_rest(self) -> None:
        it = Rig(WordyPolicy(progress=0.9))
        it.session.rests = False
        it.begin()
        it.run(2 * self.ENOUGH)
        assert not it.session.done and it.planned()


class TestTask:
    """The policy is asked while the robot may move and has a task."""

    @pytest.mark.parametrize(("armed", "task", "asked"), [(True, "left", 2), (False, "left", 0), (True, None, 0)])
    def test_otherwise_it_only_sees(self, armed: bool, task: str | None, asked: int) -> None:
        it = Rig()
        it.session.permit(armed=armed, speed=1.0)
        it.session.follow(task)
        it.run(4)
        assert len(it.policies[0].observed) == 4
        assert len(it.policies[0].asked) == len(it.answers) == asked

    def test_a_robot_that_was_held_goes_on_by_what_is_seen_at_the_release(self) -> None:
        """What was sent meanwhile went on without it: nothing of that is continued."""
        it = Rig()
        it.begin()
        it.session.permit(armed=True, speed=0.0)
        it.run(12)
        assert len(it.answers) > 1 and not it.planned()
        asked = len(it.policies[0].asked)
        it.session.permit(armed=True, speed=1.0)
        it.run()
        assert len(it.policies[0].asked) == asked + 1 and it.planned()

    def test_a_frame_from_before_the_release_is_not_asked_from(self) -> None:
        """Its answer would be dropped, and the next frame had to wait for it: two seconds with a slow policy."""
        it = Rig()
        it.begin()
        it.session.permit(armed=True, speed=0.0)
        it.run(2)
        before_ns, asked = it.clock.now_ns(), len(it.policies[0].asked)
        it.clock.advance_ns(STEP_NS)
        it.session.permit(armed=True, speed=1.0)
        zero = np.zeros(2)
        late = Observation(stamp_ns=before_ns, joint_position=zero, joint_velocity=zero, instruction="left")
        it.session.offer(late)
        assert len(it.policies[0].asked) == asked
        it.offer()
        assert len(it.policies[0].asked) == asked + 1

    def test_what_was_asked_before_a_hold_is_dropped_when_it_comes_after_it(self) -> None:
        """It continues a plan that ended with the hold: the robot raced after it."""
        it = Rig()
        it.begin()
        it.run()
        handed = len(it.answers)
        it.offer()
        it.session.permit(armed=True, speed=0.0)
        it.session.permit(armed=True, speed=1.0)
        it.finish()
        assert len(it.answers) == handed and not it.planned()
        it.run()
        assert len(it.answers) == handed + 1 and it.planned()

    def test_a_robot_that_somebody_else_led_goes_on_by_what_is_seen_then(self) -> None:
        it = Rig()
        it.begin()
        asked = len(it.policies[0].asked)
        it.session.permit(armed=True, speed=1.0, led=False)
        it.run(3)
        assert not it.planned() and len(it.policies[0].asked) == asked
        it.session.permit(armed=True, speed=1.0)
        it.run()
        assert len(it.policies[0].asked) == asked + 1 and it.planned()

    def test_a_stop_that_ends_a_hold_asks_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        it, asked = Rig(), list[str]()
        it.begin()
        monkeypatch.setattr(it.inference, "replan_now", lambda: asked.append("now"))
        it.session.permit(armed=True, speed=0.0)
        it.session.permit(armed=False, speed=1.0)
        assert not asked

    def test_an_empty_task_is_one_to_evaluate_but_no_words_for_a_robot(self) -> None:
        it = Rig()
        it.session.permit(armed=True, speed=1.0)
        it.session.instruct("")
        it.run(2)
        assert not it.policies[0].asked
        it.session.follow("")
        it.run()
        assert len(it.policies[0].asked) == 1

    def test_unknown_words_drop_the_task_and_say_why(self) -> None:
        it = Rig()
        it.begin()
        assert it.session.instruct("up") is Heard.REFUSED
        assert (it.session.instruction, it.session.refusal) == ("", "does not know 'up'")
        it.run(2)
        assert len(it.answers) == 1 and it.planned(), "the plan is carried out to its end"
        it.session.instruct("right")
        assert it.session.refusal == ""

    def test_another_task_does_not_wait_and_continues_the_plan(self) -> None:
        it = Rig()
        it.begin()
        it.session.instruct("right")
        it.run()
        assert [(each.instruction, each.prefix_rows) for each in it.policies[0].asked] == [("left", 0), ("right", 1)]

    @pytest.mark.parametrize(
        "word",
        [*INTERRUPTIONS, " Stop ", "Stop!", "stop.", "STOP now", "wait, please", "stop it", "no, stop!", "hold still"],
    )
    def test_an_interruption_drops_task_and_plan_and_stays_armed(self, word: str) -> None:
        it = Rig()
        it.begin()
        assert it.session.instruct(word) is Heard.INTERRUPTION
        assert (it.session.instruction, it.session.armed, it.planned()) == ("", True, False)
        it.session.instruct("left")
        it.run(2)
        assert len(it.answers) == 2 and it.planned()

    @pytest.mark.parametrize("words", ["...", "?", " ", ""])
    def test_what_has_no_word_is_no_task(self, words: str) -> None:
        """As speech recognition says of silence: a policy that reads any text would be given the blank instruction."""
        it = Rig(WordyPolicy(words=("left", words)))
        it.begin()
        assert it.session.instruct(words) is (Heard.REFUSED if words else Heard.TASK)
        asked = len(it.policies[0].asked)
        it.run(4)
        assert it.session.instruction == "" and len(it.policies[0].asked) == asked

    def test_a_task_that_begins_with_a_word_of_interruption_is_one(self) -> None:
        it = Rig(WordyPolicy(words=("left", "hold the cube")))
        it.begin()
        assert it.session.instruct("hold the cube") is Heard.TASK
        assert it.session.instruct("stop the cube") is Heard.INTERRUPTION, "to be on the safe side"

    @pytest.mark.parametrize("end", ["disarmed", "stop", "unknown"])
    def test_a_chunk_that_was_under_way_when_all_ended_is_not_handed_out(self, end: str) -> None:
        it = Rig()
        it.session.permit(armed=True, speed=1.0)
        it.session.instruct("left")
        it.offer()
        if end == "disarmed":
            it.session.permit(armed=False, speed=1.0)
        else:
            it.session.instruct(end)
        it.finish()
        assert len(it.policies[0].asked) == 1
        assert not it.answers and not it.planned()


class TestPolicies:
    """One of several policies runs, and any of them is steered."""

    def test_another_one_takes_over_at_once_and_continues_the_plan(self) -> None:
        """On its own time grid; what the one before was asked is handed out still."""
        it = Rig(WordyPolicy(), WordyPolicy(level=0.01, step_ns=STEP_NS // 2, prefix_rows=2))
        it.begin()
        assert it.session.select("p1")
        it.run()
        (asked,) = it.policies[1].asked
        assert (asked.prefix_rows, asked.frozen) == (2, 2)
        assert [answer.policy for answer in it.answers] == list(it.policies)
        it.offer()
        assert it.session.select("p0") and it.session.active.name == "p0"
        it.finish()
        assert it.answers[-1].policy is it.policies[1]

    @pytest.mark.parametrize(
        ("name", "kind", "why"),
        [("p1", InstructionError, "does not know 'left'"), ("nobody", ConfigError, "loaded are: p0, p1")],
    )
    def test_one_that_is_not_there_or_does_not_know_the_task_is_not_taken(
        self, name: str, kind: type[Exception], why: str
    ) -> None:
        it = Rig(WordyPolicy(), WordyPolicy(words=("right",)))
        it.begin()
        with pytest.raises(kind, match=why):
            it.session.select(name)
        assert it.session.active.name == "p0"
        assert not it.session.select("p0"), "it runs already"

    def test_two_of_one_name_are_refused(self) -> None:
        policy = Loaded(name="same", policy=WordyPolicy())
        with pytest.raises(ConfigError, match="both called same"):
            PolicySession((policy, policy), PlanCopy(2, LEAD_NS, 10**9), ManualClock().now_ns)

    def test_all_that_have_a_number_are_steered_or_none(self) -> None:
        it = Rig(WordyPolicy(steering={"speed": 0.0}), WordyPolicy(steering={"speed": 0.0, "care": 0.0}))
        it.session.steer("speed", 0.5)
        it.session.steer("care", 1.0)
        for name, value in (("speed", 2.0), ("depth", 0.0)):
            with pytest.raises(ConfigError, match=name):
                it.session.steer(name, value)
        assert [policy.steering for policy in it.policies] == [{"speed": 0.5}, {"speed": 0.5, "care": 1.0}]


class TestDetector:
    """What it makes of an inference is said before the chunk goes out."""

    @staticmethod
    def rig(embedding: float | None = 10.0) -> Rig:
        calibration = Calibration(
            row_scale=np.ones((ROWS, 4)),
            centre=np.zeros(EMBEDDING),
            basis=np.eye(EMBEDDING)[:, :2],
            variance=np.ones(3),
            windows={"consistency": 12, "novelty": 1},
            thresholds={"consistency": 100.0, "novelty": 2.0},
        )
        last = Inference(
            instruction="go",
            points=None,
            targets=np.zeros((ROWS, 4)),
            given_rows=0,
            embedding=None if embedding is None else np.full(EMBEDDING, embedding),
            state=np.zeros(7),
            progress=None,
            clamped_rows=(),
            held_rows=(),
            model_ns=0,
            kinematics_ns=0,
            total_ns=0,
        )
        return Rig(WordyPolicy(last=last), WordyPolicy(), detector=Detector(calibration))

    def test_an_alarm_is_said_before_its_chunk(self) -> None:
        it = self.rig()
        it.begin()
        assert [type(event) for event in it.events] == [Response, Answer]
        assert it.session.response is Response.SLOW
        assert it.answers[0].detector_ns is not None
        assert it.session.assessment is not None and it.session.assessment.alarms == ("novelty",)

    def test_what_was_asked_for_another_task_is_judged_as_that(self, monkeypatch: pytest.MonkeyPatch) -> None:
        it, told, update = self.rig(embedding=0.0), list[object](), Detector.update
        monkeypatch.setattr(Detector, "update", lambda *one, **of: told.append(of["instruction"]) or update(*one, **of))
        it.begin("right")
        assert told == ["go"], "as the inference says, whatever the task is by then"

    def test_what_the_policy_before_was_asked_is_not_held_against_the_next(self) -> None:
        """Its inference ended after the switch; the next policy had no detector, and was held for good."""
        it = self.rig()
        it.begin()
        it.session.permit(armed=True, speed=1.0)
        it.offer()
        it.session.select("p1")
        it.finish()
        it.run(2)
        assert it.session.response is Response.FULL and it.answers[-1].policy is it.policies[1]

    def test_a_verdict_that_is_out_only_after_the_switch_is_not_held_against_the_next(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        it, update = self.rig(), Detector.update

        def late(*one: object, **of: object) -> object:
            found = update(*one, **of)  # type: ignore[arg-type]
            it.session.select("p1")
            return found

        monkeypatch.setattr(Detector, "update", late)
        it.begin()
        assert it.session.response is Response.FULL and it.session.assessment is None

    @pytest.mark.parametrize("end", ["disarmed", "another leads", "another policy"])
    def test_nothing_is_held_against_the_next_run(self, end: str) -> None:
        it = self.rig()
        it.begin()
        if end == "disarmed":
            it.session.permit(armed=False, speed=1.0)
        elif end == "another leads":
            it.session.permit(armed=True, speed=1.0, led=False)
        else:
            it.session.select("p1")
        assert it.session.response is Response.FULL and it.session.assessment is None

    def test_what_is_usual_is_no_news(self) -> None:
        it = self.rig(embedding=0.0)
        it.begin()
        assert it.session.response is Response.FULL
        assert len(it.events) == 1

    def test_a_policy_that_does_not_tell_its_embedding_is_an_error_and_no_chunk(self) -> None:
        it = self.rig(embedding=None)
        with pytest.raises(ConfigError, match="does not tell its embedding"):
            it.begin()
        assert not it.answers and not it.planned()


def test_a_thread_asks_the_same_as_a_simulation() -> None:
    """At the same times, with the same prefix: only who waits for the answer differs."""
    stepped = Rig()
    stepped.session.permit(armed=True, speed=1.0)
    stepped.session.instruct("left")
    stepped.run(9)
    clock, plan, policy, done = ManualClock(10**9), PlanCopy(2, LEAD_NS, 10**9), WordyPolicy(), threading.Semaphore(0)
    loaded = Loaded(name="p0", policy=policy, expected_ns=DELAY_NS, stated_ns=DELAY_NS)
    answers: list[Answer[WordyPolicy]] = []
    session = PolicySession((loaded,), plan, clock.now_ns, publish=answers.append)
    thread = AsyncInference(
        policy,
        clock,
        plan_window=plan.window,
        tolerance=np.full(2, 0.1),
        rest_speed=np.full(2, 0.05),
        publish=session.deliver,
        on_error=print,
        lead_ns=LEAD_NS,
        estimator=DelayEstimator(),
        on_done=done.release,
    )
    session.start(thread)
    thread.start()
    session.permit(armed=True, speed=1.0)
    session.instruct("left")
    for k, stamp_ns in enumerate(stepped.policies[0].observed):
        clock.sleep_until_ns(stamp_ns)
        zero = np.zeros(2)
        session.offer(Observation(stamp_ns=stamp_ns, joint_position=zero, joint_velocity=zero, instruction="left"))
        assert k % 2 or done.acquire(timeout=WAIT_S)
    assert thread.close()
    assert policy.asked == stepped.policies[0].asked
    assert [each.now_ns for each in answers] == [each.now_ns for each in stepped.answers]

"""Runs the policy, a bundle or a server's: camera frames, joint states and an instruction in, action chunks out.

Subscribes `camera/NAME/image_raw`, `joint_states`, `instruction`, `safety/permission`, `safety/state`; publishes
`policy/action_chunk` and, of the same observation, `policy/features`. Inference has its own thread and runs only while
the robot may follow it. An instruction with an unknown word is an ERROR in the diagnostics and drops the task: the
robot stops when its last chunk ends. Parameter `engine` names what runs the graphs.

A second bundle (`standby`) is loaded and warm; its name on `policy/select` changes to it, and its first chunk continues
the plan that runs. The instruction "stop" (halt, wait, hold, pause) brings the robot to rest at once, still armed, by
`control/source` hold; the next task goes on.

In simulated time an inference takes `inference_delay_ms`, or what the warm-up measured, in whole ticks of the clock:
one that the machine finishes early is held back, and time waits for one that it finishes late.

A bundle that estimates its progress rests once its task is done, as it sees it, until it is told the next: parameter
`rest_when_done`.

What a bundle can be steered by (docs/how-to/policy.md) is a parameter `steer.NAME`, which may be set while it runs.

A bundle with a calibrated failure detector (docs/concepts/detector.md) is watched: after each inference, `safety/state`
says full, slow, hold or stop, and why. That is a request to the safety monitor, which decides what to do about it.
"""

from __future__ import annotations

import contextlib
import math
import os
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path

from diagnostic_msgs.msg import DiagnosticArray
from rcl_interfaces.msg import SetParametersResult
from rclpy.parameter import Parameter
from sensor_msgs.msg import PointCloud
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory

from tendon.control.continuation import on_plan_tolerance
from tendon.core.errors import ConfigError, InvalidDataError, TendonError
from tendon.core.filter_input import LEAD_TICKS
from tendon.core.modes import Source
from tendon.core.node_status import Level, NodeStatus, PolicyStatus
from tendon.core.permission import Permission
from tendon.core.phrases import beginning
from tendon.evaluation.expert_policy import ExpertPolicy
from tendon.evaluation.suites import DEFAULT_SUITE
from tendon.graph import topics
from tendon.graph.leading import UNLED
from tendon.graph.parameters import STEERED
from tendon.policies.bundle.places import EXPERT
from tendon.policies.engines.engine import BEST, Engine, engine_named
from tendon.policies.inference.asynchronous import INFERENCE_THREAD, AsyncInference
from tendon.policies.inference.load_place import LoadedPolicy, load_place
from tendon.policies.inference.loaded import Loaded
from tendon.policies.inference.outage import Outage
from tendon.policies.inference.plan import PlanCopy
from tendon.policies.inference.policy import Inference
from tendon.policies.inference.session import Answer, Heard, PolicySession
from tendon.policies.remote.policy import RemoteInference
from tendon.robots.rest import Rest
from tendon.robots.safety_settings import nanoseconds
from tendon.ros2_nodes import wire
from tendon.ros2_nodes.base import qos
from tendon.ros2_nodes.base.announcements import Announcements
from tendon.ros2_nodes.base.runtime import Urgency, run_node
from tendon.ros2_nodes.base.shell import NodeShell
from tendon.ros2_nodes.policy.held_time import HeldTime
from tendon.ros2_nodes.policy.inputs import ObservationInputs
from tendon.ros2_nodes.wire.status.first_name import first_name
from tendon.safety.reports import ControlState, ResponseRequest
from tendon.safety.response import Response

RESPONSE_PERIOD_S = 0.1
HANGS_NS, HANGS_TIMES = 2_000_000_000, 10
"""An inference that takes longer, and so many times as long as the last one, hangs."""
OLD_WORDS_S = 5.0
"""Words that are heard within this time after the start may have been said to an earlier process."""
GraphPolicy = LoadedPolicy | ExpertPolicy
REST_WHEN_DONE = "rest_when_done"
MEASURED = -1.0
"""Value of `inference_delay_ms` for what the warm-up has measured."""
DONE = "the task is done, as the policy sees it: the robot rests until it is told the next"
LEVELS = {Response.SLOW: Level.WARN, Response.HOLD: Level.WARN, Response.STOP: Level.ERROR}


class PolicyNode(NodeShell):
    """Gives a `PolicySession` what it hears, and says what comes of it."""

    def __init__(self) -> None:
        super().__init__("policy_node")
        engine = engine_named(self.setting("engine", BEST))
        suite = self.setting("suite", DEFAULT_SUITE)
        places = [place for name in ("bundle", "standby") if (place := self.setting(name, ""))]
        residual = self.setting("residual", "")
        corrects = Path(residual) if residual else None
        loaded: list[Loaded[GraphPolicy]] = [self._load(place, engine, suite, corrects) for place in places]
        lead_ns = LEAD_TICKS * round(1e9 / self.profile.control_hz)
        ahead_ns = nanoseconds(self.profile.safety.chunk_ahead_s)
        self._plan = plan = PlanCopy(len(self.profile.joint_names), lead_ns, ahead_ns)
        self._session: PolicySession[GraphPolicy] = PolicySession(
            loaded, plan, self.time.now_ns, publish=self._publish, on_response=self._respond
        )
        defaults = {name: value for each in loaded[::-1] for name, value in each.policy.steering.items()}
        for name, value in defaults.items():
            self._session.steer(name, self.setting(f"{STEERED}{name}", value))
        self._session.rests = self.setting(REST_WHEN_DONE, True)
        self.add_on_set_parameters_callback(self._set)
        self._unmeant, self._permission_error = False, ""
        self._heard, self._selected, self._selection_error = "", "", ""
        self._outage = Outage()
        self._held_time = HeldTime(lambda now_ns: self._inference.holds(now_ns), self.pass_time)
        self._inference = AsyncInference(
            self._session.active.policy,
            self.time,
            plan_window=plan.window,
            tolerance=on_plan_tolerance(self.profile),
            rest_speed=Rest(self.profile).speed,
            publish=self._session.deliver,
            on_error=self._failed,
            lead_ns=lead_ns,
            on_done=self._held_time.inferred,
        )
        self._delay_ms = self.setting("inference_delay_ms", MEASURED)
        self._chunks = self.create_publisher(JointTrajectory, topics.action_chunk(Source.POLICY), qos.NEWEST)
        self._features = self.create_publisher(PointCloud, topics.FEATURES, qos.NEWEST)
        cameras = dict.fromkeys(camera.name for each in loaded for camera in each.policy.cameras)
        self._inputs = ObservationInputs(self, tuple(cameras), self._offer)
        self._chunk_meter, self._inference_meter = self.meter("chunk"), self.meter("inference")
        Announcements(self, topics.INSTRUCTION, self._instruct)
        self.create_subscription(DiagnosticArray, wire.PERMISSION.name, self._permit, qos.NEWEST)
        self.create_subscription(DiagnosticArray, wire.STATE.name, self._hear_state, qos.EACH, raw=True)
        self._instructions = self.create_publisher(String, topics.INSTRUCTION, qos.LATCHED)
        self._followed = self.create_publisher(String, topics.FOLLOWED_INSTRUCTION, qos.LATCHED)
        self._permission: Permission | None = None
        self._led = True
        self._leader: Source | None = None
        self._interrupted = False
        self._knows_s = math.inf
        self._sources = self.create_publisher(String, topics.CONTROL_SOURCE, qos.LATCHED)
        Announcements(self, topics.SELECT, self._select)
        self._states = self.create_publisher(DiagnosticArray, wire.STATE.name, qos.EACH)
        self._detector_meter = self.meter("detector")
        self.every(0.02, self.beat)
        if any(each.detector is not None for each in loaded):
            self.every(RESPONSE_PERIOD_S, self._respond)

    def _load(self, place: str, engine: Engine | None, suite: str, residual: Path | None) -> Loaded[GraphPolicy]:
        if place == EXPERT:
            from tendon.ros2_nodes.policy.expert import SeenWorld

            return Loaded(name=EXPERT, policy=SeenWorld(self, suite).expert())
        at = load_place(Path(place), self.profile, engine, residual)
        return Loaded(name=at.name, policy=at.policy, detector=at.detector)

    def start(self) -> None:
        """Warms the policies up, then says the first instruction to everybody, this node too."""
        for each in self._session.loaded:
            each.expected_ns = each.policy.warm_up()
            each.stated_ns = self._stated_ns(each.expected_ns)
        self._session.start(self._inference)
        self._inference.start()
        self._knows_s = time.monotonic() + OLD_WORDS_S
        if first := self.setting("instruction", ""):
            self._instructions.publish(String(data=first))

    def _stated_ns(self, expected_ns: int) -> int | None:
        """Returns what an inference takes in simulated time: whole ticks of it; `None` in real time."""
        if not self.time.simulated:
            return None
        tick_ns = round(1e9 / self.profile.control_hz)
        wanted_ns = expected_ns if self._delay_ms == MEASURED else round(self._delay_ms * 1e6)
        return max(1, -(-wanted_ns // tick_ns)) * tick_ns

    def through(self, now_ns: int) -> bool:
        """Returns whether no inference should be over by now and is not."""
        return self._held_time.through(now_ns)

    def check(self) -> None:
        """Says, besides, that an inference for which time waits is at work; but not for ever."""
        super().check()
        self._held_time.look()

    def health(self) -> tuple[Level, str]:
        """Returns the first thing that keeps the policy from working."""
        session = self._session
        if problem := self._inputs.problem():
            return Level.ERROR, problem
        asked = session.armed and bool(session.instruction)
        if error := self._permission_error or session.refusal or (self._outage.text if asked else ""):
            return Level.ERROR, error
        inference, last = self._inference.status(), session.active.policy.last
        usual_ns = session.active.expected_ns if last is None else last.total_ns
        if inference.running_ns > max(HANGS_NS, HANGS_TIMES * usual_ns):
            seconds = inference.running_ns / wire.SECOND_NS
            return Level.ERROR, f"an inference has not ended for {seconds:.0f} s: end the graph and start it again"
        if session.assessment and (response := session.response) is not Response.FULL:
            return LEVELS[response], f"asks to {response.word}: {session.assessment.reason}"
        if self._unmeant:
            return Level.WARN, "the robot is armed, but the safety monitor has not heard of this policy yet"
        if not session.instruction:
            return Level.WARN, "waiting for an instruction"
        if session.active.policy.prefix_rows and inference.prefix_capped:
            return Level.WARN, "inference is slower than the prefix the policy was trained to continue: chunks may jump"
        if session.armed and (unled := UNLED.get(self._leader or Source.POLICY)):
            return Level.WARN, unled
        if session.done:
            return Level.OK, DONE
        return Level.OK, "inferring" if session.armed else "ready"

    def describe(self, status: NodeStatus) -> NodeStatus:
        """Returns a status with the instruction and what inference says of itself."""
        session, active = self._session, self._session.active
        inference, last = self._inference.status(), active.policy.last
        seen, progress = (last.points, last.progress) if isinstance(last, Inference) else (None, None)
        delay_ns = inference.delay_ns
        return PolicyStatus(
            **vars(status),
            policy=active.name,
            standby=tuple(each.name for each in session.loaded if each is not active),
            engine=str(active.policy.engine),
            instruction=session.instruction,
            heard=self._heard,
            refusal=session.refusal,
            selected=self._selected,
            selection_refusal=self._selection_error,
            steer=active.policy.steering,
            delay_ms=None if delay_ns is None else round(delay_ns / 1e6, 1),
            prefix_rows=inference.prefix_rows,
            observations_replaced=inference.replaced,
            inference_errors=inference.errors,
            inference_ms=None if last is None else _milliseconds(last.total_ns),
            network_ms=_milliseconds(last.network_ns) if isinstance(last, RemoteInference) else None,
            model_ms=_milliseconds(last.model_ns) if isinstance(last, Inference) else None,
            target_m=() if seen is None else tuple(seen[0].round(3).tolist()),
            reference_m=() if seen is None else tuple(seen[1].round(3).tolist()),
            progress=None if progress is None else round(progress, 3),
            done=session.done,
            scores=self._scores(),
        )

    def _scores(self) -> Mapping[str, float]:
        assessment = self._session.assessment
        return {} if assessment is None else _rounded(assessment.scores)

    def _offer(self) -> None:
        observation = self._inputs.observation(self._session.instruction)
        if observation is not None:
            self._session.offer(observation)

    def _instruct(self, text: str) -> None:
        self._heard = text
        heard = self._session.instruct(text)
        if heard is Heard.INTERRUPTION:
            self._interrupted = True
            self._sources.publish(String(data=Source.HOLD.value))
            self.get_logger().info(f"interrupted: {beginning(text)!r}")
        elif heard is Heard.TASK:
            self._followed.publish(String(data=text))
            self.get_logger().info(f"instruction: {beginning(text)!r}")
            new = time.monotonic() > self._knows_s  # what was said before ends no hold that a person gave since
            if not (self._interrupted or self._leader is Source.HOLD):
                return
            if not new:
                self.get_logger().warning("the robot is held: say the task again, or `policy` on control/source")
                return
            self._interrupted = False
            self._sources.publish(String(data=Source.POLICY.value))

    def _hear_state(self, data: bytes) -> None:
        """Takes what the control node says: whom it follows, and which plan. The monitor minds what is broken in it."""
        if first_name(data) != ControlState.node:
            return
        with contextlib.suppress(InvalidDataError):
            state = wire.STATE.decode_bytes(data)
            if isinstance(state, ControlState):
                self._plan.confirm(state.looked_at_ns, state.plan_ns)
                if state.source not in (self._leader, Source.HOME):  # a task may end the way home
                    self._leader = state.source
                    self._interrupted &= state.source is Source.HOLD  # else somebody leads since
                self._led = state.source is Source.POLICY and state.mode.moving and state.settled
                self._permit_session()

    def _select(self, name: str) -> None:
        """Changes the policy, if there is one of that name and it knows the task."""
        self._selected = name
        try:
            changed = self._session.select(name)
        except TendonError as error:
            self._selection_error = f"policy not changed: {error}"
            self.complain(topics.SELECT, self._selection_error)
            return
        self._selection_error = ""
        if changed:
            self.get_logger().info(f"policy: {name}")

    def _set(self, parameters: list[Parameter]) -> SetParametersResult:
        for parameter in parameters:
            if parameter.name == REST_WHEN_DONE:
                self._session.rests = bool(parameter.value)
            if parameter.name.startswith(STEERED):
                try:
                    self._session.steer(parameter.name.removeprefix(STEERED), parameter.value)
                except ConfigError as error:
                    return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

    def _permit(self, message: DiagnosticArray) -> None:
        try:
            permission = wire.PERMISSION.decode(message)
        except InvalidDataError as error:  # the control node does not follow it either
            self._permission_error = str(error)
            return
        self._permission_error = ""
        self._permission = permission
        self._permit_session()

    def _permit_session(self) -> None:
        permission = self._permission
        if permission is None:
            return
        armed = permission.armed and permission.policy == self.instance
        self._unmeant = permission.armed and not armed
        self._session.permit(armed=armed, speed=permission.speed, led=self._led)

    def _publish(self, answer: Answer[GraphPolicy]) -> None:
        chunk = answer.chunk
        if chunk.features is not None and self._features.get_subscription_count():
            # Before the chunk, which a residual cannot correct without them.
            message = wire.features_message(chunk.features, chunk.observation_stamp_ns, self.profile.base_frame)
            self._features.publish(message)
        self._chunks.publish(wire.chunk_bytes(chunk, self.profile.joint_names))
        self._chunk_meter.add(answer.now_ns - chunk.observation_stamp_ns)
        if answer.detector_ns is not None:
            self._detector_meter.add(answer.detector_ns)
        if answer.policy.last is not None:
            self._inference_meter.add(answer.policy.last.total_ns)
        if back := self._outage.succeeded(time.monotonic()):
            self.get_logger().info(back)

    def _respond(self) -> None:
        """Says what the detector asks for."""
        level, text = self.health()
        request = ResponseRequest(
            node=self.get_name(), level=level, text=text, response=self._session.response, scores=self._scores()
        )
        self._states.publish(wire.STATE.encode(request, self.time.now_ns()))

    def _failed(self, error: Exception) -> None:
        self._chunk_meter.drop()
        self._outage.failed(error, time.monotonic())

    def close(self) -> None:
        """Ends inference."""
        self._inference.close()
        super().close()


def _milliseconds(time_ns: int | None) -> float | None:
    return None if time_ns is None else round(time_ns / 1e6, 2)


def _rounded(scores: Mapping[str, float]) -> dict[str, float]:
    """Returns what can be said of scores: numbers that are finite."""
    return {name: round(score, 3) for name, score in scores.items() if math.isfinite(score)}


def main() -> int:
    """Runs the node. An inference that is still under way is left alone: its engine must not be taken down under it."""
    code = run_node(PolicyNode, Urgency.THIRD, images=True)
    if any(thread.name == INFERENCE_THREAD for thread in threading.enumerate()):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return code


if __name__ == "__main__":
    sys.exit(main())

"""Runs the policy, a bundle or a server's: camera frames, joint states and an instruction in, action chunks out.

Subscribes `camera/NAME/image_raw`, `joint_states`, `instruction`, `safety/permission`; publishes
`policy/action_chunk`. Inference has its own thread and runs only while the robot may move. An instruction with an
unknown word is an ERROR in the diagnostics and drops the task: the robot stops when its last chunk ends. Parameter
`engine` names what runs the graphs.

A second bundle (`standby`) is loaded and warm; its name on `policy/select` changes to it, and its first chunk continues
the plan that runs. The instruction "stop" (halt, wait, hold, pause) brings the robot to rest at once, still armed, by
`control/source` hold; the next task goes on.

In simulated time an inference takes `inference_delay_ms`, or what the warm-up measured, in whole ticks of the clock:
one that the machine finishes early is held back, and time waits for one that it finishes late.

What a bundle can be steered by (docs/how-to/policy.md) is a parameter `steer.NAME`, which may be set while it runs.

A bundle with a calibrated failure detector (docs/concepts/detector.md) is watched: after each inference, `safety/state`
says full, slow, hold or stop, and why. That is a request to the safety monitor, which decides what to do about it.
"""

from __future__ import annotations

import math
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from diagnostic_msgs.msg import DiagnosticArray
from rcl_interfaces.msg import SetParametersResult
from rclpy.parameter import Parameter
from sensor_msgs.msg import Image as ImageMessage
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory

from tendon.control.continuation import on_plan_tolerance
from tendon.control.controller import LEAD_TICKS
from tendon.control.executor import Executor
from tendon.core.errors import ConfigError, InstructionError, InvalidDataError, TendonError
from tendon.core.modes import Source
from tendon.core.node_status import Level, NodeStatus, PolicyStatus
from tendon.core.protocols import Policy
from tendon.core.types import ActionChunk
from tendon.graph.parameters import STEERED
from tendon.observation.buffer import ObservationBuffer, Tolerances
from tendon.policies.bundle.bundle import load_bundle
from tendon.policies.detector.detector import Assessment, Detector
from tendon.policies.detector.file import load_detector
from tendon.policies.engines.engine import BEST, engine_named
from tendon.policies.inference.asynchronous import INFERENCE_THREAD, AsyncInference, DelayEstimator
from tendon.policies.inference.outage import Outage
from tendon.policies.inference.policy import BundlePolicy, Inference
from tendon.policies.remote import require_remote
from tendon.policies.remote.policy import RemoteInference, RemotePolicy
from tendon.ros2_nodes import qos, wire
from tendon.ros2_nodes.announcements import FOLLOWED_TOPIC, Announcements, overhear
from tendon.ros2_nodes.runtime import Urgency, run_node
from tendon.ros2_nodes.shell import NodeShell
from tendon.safety.reports import ResponseRequest
from tendon.safety.response import Response

MISSED_PERIODS = 3
JOINT_STATE_AGE_NS = 100_000_000
CLOCK_RACE_NS = 30_000_000
REASON_NS = 1_000_000_000
"""How long a reason stands in the diagnostics before the next one, which may differ by a few ms, takes its place."""

RESPONSE_PERIOD_S = 0.1
MEASURED = -1.0
"""Value of `inference_delay_ms` for what the warm-up has measured."""
HOLD_S = 60.0
"""Wall time that simulated time waits for one inference; then the policy is late, as it would be on a robot."""
LOOK_S = 0.1
"""What one look at a waiting inference counts at most: a host that sleeps does no work."""
SLOWED_NS = 500_000_000
"""How long after the robot was slowed or held its plans may be late."""
LEVELS = {Response.SLOW: Level.WARN, Response.HOLD: Level.WARN, Response.STOP: Level.ERROR}

REPLAN_STEPS = 2
"""Steps of a chunk between inferences: one is so few that the arm hesitates (docs/results/success.md)."""


SELECT_TOPIC = "policy/select"
INTERRUPTIONS = ("stop", "halt", "wait", "hold", "pause")
"""Words that are no task: the robot comes to rest at once and stays armed."""


@dataclass(eq=False)
class _Loaded:
    """A policy that is ready to run.

    Attributes:
        name: of its bundle, or the server's.
        policy: runs it.
        detector: of its failures; `None` without a calibration.
        expected_ns: what an inference took when it was warmed up.
    """

    name: str
    policy: BundlePolicy | RemotePolicy
    detector: Detector | None
    expected_ns: int = 0

    def warm_up(self) -> None:
        """Makes the first inference as fast as the rest, and learns how fast that is."""
        self.expected_ns = self.policy.warm_up()

    def estimator(self) -> DelayEstimator:
        """Returns a new estimator of its delay; nothing is left out, for it is warm."""
        return DelayEstimator(warm_up=0, expected_ns=self.expected_ns)


class PolicyNode(NodeShell):
    """Feeds asynchronous inference and publishes what it answers."""

    def __init__(self) -> None:
        super().__init__("policy_node")
        self._engine = engine_named(self.setting("engine", BEST))
        self._loaded = [self._load(place) for name in ("bundle", "standby") if (place := self.setting(name, ""))]
        self._active = self._loaded[0]
        names = [each.name for each in self._loaded]
        if len(set(names)) < len(names):
            raise ConfigError(f"policy and standby are both called {names[0]}: give one another name in bundle.yaml")
        defaults = {name: value for each in self._loaded[::-1] for name, value in each.policy.steering.items()}
        for name, value in defaults.items():
            self._steer(name, self.setting(f"{STEERED}{name}", value))
        self.add_on_set_parameters_callback(self._set)
        self._assessment: Assessment | None = None
        self._watching, self._slowed_ns = False, -SLOWED_NS
        self._periods_ns = {
            camera.name: round(1e9 / self.profile.camera(camera.name).rate_hz)
            for each in self._loaded
            for camera in each.policy.cameras
        }
        self._arrived_ns: dict[str, int] = {}
        self._refused: dict[str, tuple[str, int]] = {}
        # /clock and what is stamped with it come by different ways, so either may be first.
        tolerances = Tolerances(ahead_ns=CLOCK_RACE_NS) if self.time.simulated else Tolerances()
        self._buffer = ObservationBuffer(self.profile, tuple(self._periods_ns), tolerances)
        self._plan = Executor(len(self.profile.joint_names))
        self._lead_ns = LEAD_TICKS * round(1e9 / self.profile.control_hz)
        self._plan_lock = threading.Lock()
        self._armed, self._unmeant = False, False
        self._instruction, self._heard, self._instruction_error = "", "", ""
        self._outage, self._selected, self._selection_error = Outage(), "", ""
        self._permission_error = ""
        self._camera_meters = {name: self.meter(f"camera {name}") for name in self._periods_ns}
        self._chunk_meter, self._observation_meter = self.meter("chunk"), self.meter("observation")
        self._inference_meter = self.meter("inference")
        self._chunks = self.create_publisher(JointTrajectory, "policy/action_chunk", qos.NEWEST)
        self._inference = AsyncInference(
            self._active.policy,
            self.time,
            replan_steps=REPLAN_STEPS,
            plan_window=self._window,
            tolerance=on_plan_tolerance(self.profile),
            publish=self._publish,
            on_error=self._failed,
            lead_ns=self._lead_ns,
            on_done=self._inferred,
        )
        self._delay_ms = self.setting("inference_delay_ms", MEASURED)
        self._time_lock = threading.Lock()
        self._held_ns: int | None = None
        self._held_s, self._looked_s = 0.0, time.monotonic()
        for name in self._periods_ns:
            topic = f"camera/{name}/image_raw"
            self.create_subscription(ImageMessage, topic, partial(self._image, name), qos.STREAM)
        self.create_subscription(JointState, "joint_states", self._joints, qos.STREAM)
        Announcements(self, "instruction", self._instruct)
        self.create_subscription(DiagnosticArray, wire.PERMISSION.name, self._permit, qos.NEWEST)
        self._instructions = self.create_publisher(String, "instruction", qos.LATCHED)
        self._followed = self.create_publisher(String, FOLLOWED_TOPIC, qos.LATCHED)
        self._source = ""
        self._sources = self.create_publisher(String, "control/source", qos.LATCHED)
        overhear(self, "control/source", self._hear_source)
        Announcements(self, SELECT_TOPIC, self._select)
        self._states = self.create_publisher(DiagnosticArray, wire.STATE.name, qos.EACH)
        self._detector_meter = self.meter("detector")
        self.every(0.02, self.beat)
        if any(each.detector is not None for each in self._loaded):
            self.every(RESPONSE_PERIOD_S, self._respond)

    def _load(self, place: str) -> _Loaded:
        """Loads a bundle, or connects to the server that a file names."""
        if Path(place).is_file():
            require_remote()
            from tendon.policies.remote.opening import open_policy

            remote = open_policy(Path(place), self.profile)
            return _Loaded(name=remote.name, policy=remote, detector=None)
        bundle = load_bundle(place)
        calibration = load_detector(bundle)
        return _Loaded(
            name=bundle.manifest.name,
            policy=BundlePolicy(bundle, self.profile, self._engine),
            detector=None if calibration is None else Detector(calibration),
        )

    def start(self) -> None:
        """Warms the policies up, then says the first instruction to everybody, this node too."""
        for each in self._loaded:
            each.warm_up()
        self._inference.use(self._active.policy, self._active.estimator(), self._stated_ns(self._active))
        self._inference.start()
        if first := self.setting("instruction", ""):
            self._instructions.publish(String(data=first))

    def _stated_ns(self, loaded: _Loaded) -> int | None:
        """Returns what an inference takes in simulated time: whole ticks of it; `None` in real time."""
        if not self.time.simulated:
            return None
        tick_ns = round(1e9 / self.profile.control_hz)
        wanted_ns = loaded.expected_ns if self._delay_ms == MEASURED else round(self._delay_ms * 1e6)
        return max(1, -(-wanted_ns // tick_ns)) * tick_ns

    def through(self, now_ns: int) -> bool:
        """Returns whether no inference should be over by now and is not."""
        with self._time_lock:
            held = self._inference.holds(now_ns)
            self._held_ns = now_ns if held else None
            return not held

    def _inferred(self) -> None:
        """Lets time go on that waited for an inference."""
        with self._time_lock:
            held_ns = self._held_ns
            if held_ns is None or self._inference.holds(held_ns):
                return
            self._held_ns, self._held_s = None, 0.0
        self.pass_time(held_ns)

    def check(self) -> None:
        """Says, besides, that an inference for which time waits is at work; but not for ever."""
        super().check()
        now_s = time.monotonic()
        with self._time_lock:
            held_ns, awake_s = self._held_ns, min(now_s - self._looked_s, LOOK_S)
            self._held_s = self._held_s + awake_s if held_ns is not None else 0.0
        self._looked_s = now_s
        if held_ns is not None and self._held_s < HOLD_S:
            self.pass_time(held_ns - 1)

    def health(self) -> tuple[Level, str]:
        """Returns the first thing that keeps the policy from working."""
        now_ns = self.time.now_ns()
        for name, period_ns in self._periods_ns.items():
            if silent := self._silent(name, MISSED_PERIODS * period_ns, now_ns):
                return Level.ERROR, f"camera {name}: {silent}; no inference without it"
        if silent := self._silent("joint_states", JOINT_STATE_AGE_NS, now_ns):
            return Level.ERROR, f"joint_states: {silent}; no inference without them"
        if problem := self._buffer.problem():
            return Level.ERROR, problem
        if error := self._permission_error or self._instruction_error or self._outage.text or self._selection_error:
            return Level.ERROR, error
        if self._assessment and (response := self._response()) is not Response.FULL:
            return LEVELS[response], f"asks to {response.word}: {self._assessment.reason}"
        if self._unmeant:
            return Level.WARN, "the robot is armed, but the safety monitor has not heard of this policy yet"
        if not self._instruction:
            return Level.WARN, "waiting for an instruction"
        if self._inference.status().prefix_capped:
            return Level.WARN, "inference is slower than the prefix the policy was trained to continue: chunks may jump"
        return Level.OK, "inferring" if self._armed else "ready"

    def describe(self, status: NodeStatus) -> NodeStatus:
        """Returns a status with the instruction and what inference says of itself."""
        inference, last = self._inference.status(), self._active.policy.last
        seen = last.points if isinstance(last, Inference) else None
        delay_ns = inference.delay_ns
        return PolicyStatus(
            **vars(status),
            policy=self._active.name,
            standby=tuple(each.name for each in self._loaded if each is not self._active),
            engine=str(self._active.policy.engine),
            instruction=self._instruction,
            heard=self._heard,
            refusal=self._instruction_error,
            selected=self._selected,
            selection_refusal=self._selection_error,
            steer=self._active.policy.steering,
            delay_ms=None if delay_ns is None else round(delay_ns / 1e6, 1),
            prefix_rows=inference.prefix_rows,
            observations_replaced=inference.replaced,
            inference_errors=inference.errors,
            inference_ms=None if last is None else _milliseconds(last.total_ns),
            network_ms=_milliseconds(last.network_ns) if isinstance(last, RemoteInference) else None,
            model_ms=_milliseconds(last.model_ns) if isinstance(last, Inference) else None,
            target_m=() if seen is None else tuple(seen[0].round(3).tolist()),
            reference_m=() if seen is None else tuple(seen[1].round(3).tolist()),
            scores={} if self._assessment is None else _rounded(self._assessment.scores),
        )

    def _silent(self, source: str, most_ns: int, now_ns: int) -> str:
        since = "yet"
        if source in self._arrived_ns:
            if now_ns - self._arrived_ns[source] <= most_ns:
                return ""
            since = f"for {most_ns / 1e6:.0f} ms"
        if source in self._refused:
            return f"nothing of use has arrived {since}: {self._refused[source][0]}"
        return f"nothing has arrived {since}"

    def _take(self, source: str, stamp_ns: int, add: Callable[[], None]) -> None:
        """Adds to the buffer what came from a source; what is refused does not count as arrived."""
        try:
            add()
        except TendonError as error:
            now_ns = self.time.now_ns()
            if now_ns >= self._refused.get(source, ("", 0))[1]:
                self._refused[source] = str(error), now_ns + REASON_NS
            self._observation_meter.drop()
            self.get_logger().warning(str(error), throttle_duration_sec=1.0)
        else:
            self._refused.pop(source, None)
            self._arrived_ns[source] = self.time.now_ns()
            if source in self._camera_meters:
                self._camera_meters[source].add(self.time.now_ns() - stamp_ns)
        self._offer()

    def _image(self, name: str, message: ImageMessage) -> None:
        if not self.time.now_ns():
            return  # no /clock yet
        stamp_ns = wire.time_ns(message.header.stamp)
        self._take(name, stamp_ns, lambda: self._buffer.add_image(name, wire.image(message), self.time.now_ns()))

    def _joints(self, message: JointState) -> None:
        if not self.time.now_ns():
            return
        stamp_ns = wire.time_ns(message.header.stamp)
        state = stamp_ns, message.name, message.position, message.velocity
        self._take("joint_states", stamp_ns, lambda: self._buffer.add_joints(*state, self.time.now_ns()))

    def _offer(self) -> None:
        observation = self._buffer.observation(self._instruction)
        if observation is None:
            return
        self._observation_meter.add(self.time.now_ns() - observation.stamp_ns)
        for each in self._loaded:
            each.policy.observe(observation)
        if self._instruction and self._armed:
            self._inference.offer(observation)

    def _instruct(self, text: str) -> None:
        self._heard = text
        if text.strip().lower() in INTERRUPTIONS:
            self._interrupt(text)
            return
        try:
            self._active.policy.check_instruction(text)
        except InstructionError as error:
            self._instruction, self._instruction_error = "", str(error)
            return
        self._instruction, self._instruction_error = text, ""
        self._followed.publish(String(data=text))
        self.get_logger().info(f"instruction: {text!r}")
        if self._source == Source.HOLD.value:  # by an interruption, or by somebody who now wants the policy to go on
            self._sources.publish(String(data=Source.POLICY.value))

    def _interrupt(self, word: str) -> None:
        """Drops the task and lets the robot come to rest now, still armed; a new task goes on from there."""
        self._instruction, self._instruction_error = "", ""
        with self._plan_lock:
            self._plan.clear()
        self._sources.publish(String(data=Source.HOLD.value))
        self.get_logger().info(f"interrupted: {word!r}")

    def _hear_source(self, source: str) -> None:
        self._source = source

    def _select(self, name: str) -> None:
        """Changes the policy, if there is one of that name and it knows the task."""
        self._selected = name
        wanted = next((each for each in self._loaded if each.name == name), None)
        try:
            if wanted is None:
                known = ", ".join(each.name for each in self._loaded)
                raise ConfigError(f"there is no policy {name!r} here, loaded are: {known}")
            if self._instruction:
                wanted.policy.check_instruction(self._instruction)
        except TendonError as error:
            self._selection_error = f"policy not changed: {error}"
            self.get_logger().warning(self._selection_error)
            return
        self._selection_error = ""
        if wanted is not self._active:
            self._active, self._watching, self._assessment = wanted, False, None
            self._inference.use(wanted.policy, wanted.estimator(), self._stated_ns(wanted))
            self.get_logger().info(f"policy: {wanted.name}")

    def _steer(self, name: str, value: float) -> None:
        """Steers every policy that is loaded and has that number.

        Raises:
            ConfigError: none of them has it, or the value does not fit all that have it; nothing is changed then.
        """
        steered = [each.policy for each in self._loaded if name in each.policy.steering] or [self._active.policy]
        for policy in steered:
            policy.check_steering(name, value)
        for policy in steered:
            policy.steer(name, value)

    def _set(self, parameters: list[Parameter]) -> SetParametersResult:
        for parameter in parameters:
            if parameter.name.startswith(STEERED):
                try:
                    self._steer(parameter.name.removeprefix(STEERED), parameter.value)
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
        armed = permission.armed and permission.policy == self.instance
        self._unmeant = permission.armed and not armed
        if permission.speed < 1.0:
            self._slowed_ns = self.time.now_ns()
        if armed != self._armed:
            self._assessment, self._watching = None, False  # what was held against the last run does not count now
        self._armed = armed
        if not self._armed:
            with self._plan_lock:
                self._plan.clear()

    def _window(self, start_ns: int, step_ns: int, rows: int) -> ActionChunk | None:
        with self._plan_lock:
            return self._plan.window(start_ns, step_ns, rows)

    def _publish(self, chunk: ActionChunk, policy: Policy) -> None:
        maker = next(each for each in self._loaded if each.policy is policy)
        if not (self._armed and self._instruction):
            return  # stopped, or the task was dropped, while it was inferred
        self._assess(chunk, maker)
        now_ns = self.time.now_ns()
        with self._plan_lock:
            self._plan.submit(chunk, now_ns + self._lead_ns)
        self._chunks.publish(wire.chunk_bytes(chunk, self.profile.joint_names))
        self._chunk_meter.add(now_ns - chunk.observation_stamp_ns)
        if maker.policy.last is not None:
            self._inference_meter.add(maker.policy.last.total_ns)
        if back := self._outage.succeeded(time.monotonic()):
            self.get_logger().info(back)

    def _assess(self, chunk: ActionChunk, maker: _Loaded) -> None:
        """Lets the detector look at the inference, before its chunk goes out: a fault in here stops the policy."""
        last, detector = maker.policy.last, maker.detector
        if detector is None or not isinstance(last, Inference):
            return
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
            instruction=self._instruction,
            slowed=self.time.now_ns() - self._slowed_ns < SLOWED_NS,
        )
        self._detector_meter.add(time.perf_counter_ns() - begin_ns)
        before, self._assessment = self._assessment, assessment
        if assessment.response is not (before.response if before else Response.FULL):
            self._respond()

    def _response(self) -> Response:
        assessment = self._assessment
        return assessment.response if assessment and self._armed else Response.FULL

    def _respond(self) -> None:
        """Says what the detector asks for; without an assessment of this run, nothing is held against the policy."""
        assessment = self._assessment
        response = self._response()
        level, text = self.health()
        request = ResponseRequest(
            node=self.get_name(),
            level=level,
            text=text,
            response=response,
            scores={} if assessment is None else _rounded(assessment.scores),
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

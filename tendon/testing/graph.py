"""A graph under test: real processes in a ROS domain of their own, an operator to ask, a witness of what they did."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np

from tendon.core.errors import ConfigError, StoppedError
from tendon.core.modes import Mode, PermissionState
from tendon.core.node_status import Level
from tendon.evaluation.episode import HOLD_CHECKS
from tendon.evaluation.suites import load_suite, suite_for
from tendon.graph.arguments import STAND_IN_BACKENDS, complete
from tendon.graph.description import RANGE_VARIABLE, Graph
from tendon.graph.domain import claim_domain, in_use
from tendon.graph.namespace import NAMESPACE_VARIABLE
from tendon.graph.preflight import preflight
from tendon.graph.running.state import POLICY_NODE
from tendon.robots.profile import RobotProfile, load_profile
from tendon.robots.rest import Rest
from tendon.ros2_nodes.base.runtime import require_ros
from tendon.ros2_nodes.clients.operator import Operator
from tendon.ros2_nodes.clients.witness import Witness
from tendon.safety.latch import STATE_VARIABLE
from tendon.safety.reports import ControlState, MonitorState
from tendon.sim.suite import Scene, Suite
from tendon.testing.process import GraphProcess

READY_S = 180.0
"""Wall time for a graph to get ready: a busy machine may need minutes to import everything."""
STANDSTILL_S = 60.0
"""Wall time after which graph time that stands still is a failure."""
ANSWER_S = 2.0
LOOK_S = 0.01
REST_STATES = 20
MOVING = 0.05
"""Part of its speed limit from which on a joint moves visibly."""
LOG_LINES = 40


class GraphError(StoppedError):
    """A graph did not start, did not get ready, or ended. The message has its last lines."""


class GraphUnderTest:
    """A running graph. Its methods belong to one thread.

    Times are the graph's: simulated ones unless `clock="realtime"`. What takes longer on a busy machine is waited for.

    Args:
        arguments: of the graph, as `tendon run` takes them.
        folder: for its log and state: a latch of another run is none of this one.

    Attributes:
        arguments: all of them, with their defaults.
        profile: the robot.
        domain: ROS's, its own.
        operator: asks what a person at the robot can ask.
        witness: recorded what was commanded, measured and said since the graph was armed.
        log: what all processes print.
        armed_ns: when it was armed last; `None` before.
        times_armed: how often it was.

    Raises:
        ConfigError: the arguments do not fit one another, or ask for a real robot.
        MissingDependencyError: ROS, or what the graph needs, is not installed.
        GraphError: it did not start.
    """

    def __init__(self, arguments: Mapping[str, str], folder: Path) -> None:
        self.arguments = complete(arguments)
        if self.arguments["backend"] not in STAND_IN_BACKENDS:
            raise ConfigError(f"backend is {self.arguments['backend']!r}: a test moves no real robot; take sim or mock")
        require_ros()
        self._graph = preflight(self.arguments)
        self.profile: RobotProfile = load_profile(self.arguments["robot"])
        self.log = folder / "graph.log"
        self.armed_ns: int | None = None
        self.times_armed = 0
        self.domain, self._claim = claim_domain()
        self._rest = Rest(self.profile)
        self._suite, self._scene = _scene(self.arguments, self.profile)
        environment = {**os.environ, **_environment(self.domain, self._graph, folder)}
        self.process = GraphProcess([f"{key}:={value}" for key, value in arguments.items()], self.log, environment)
        try:
            self._await_start()
            with _variables({RANGE_VARIABLE: environment[RANGE_VARIABLE]}):
                self.operator = Operator(
                    "test",
                    simulated_time=self._graph.simulated_time,
                    namespace=environment[NAMESPACE_VARIABLE],
                    domain=self.domain,
                )
            self.witness = Witness(self.operator.node, self.profile)
        except BaseException:
            self._end_processes()
            raise

    @property
    def nodes(self) -> tuple[str, ...]:
        """The names of its nodes, in the order of their start."""
        return tuple(process.name for process in self._graph.processes if not process.once)

    @property
    def instruction(self) -> str:
        """What success is judged by: what the simulated scene asks for, until `say` asks for another of its tasks.

        Raises:
            ConfigError: the backend is the mock, which has no scene.
        """
        if self._scene is None:
            raise ConfigError("backend is 'mock', which has no scene and no tasks: take backend='sim'")
        return self._scene.instruction

    def now_ns(self) -> int:
        """Returns the time of the graph."""
        return self.operator.time.now_ns()

    def run_for(self, seconds: float) -> None:
        """Lets some of the graph's time pass.

        Raises:
            GraphError: the graph ended, or its time stands still.
        """
        until_ns = self.now_ns() + round(seconds * 1e9)
        self.wait_until(lambda: self.now_ns() >= until_ns, until_ns)

    def wait(self, condition: Callable[[], bool], what: str, patience_s: float = READY_S) -> None:
        """Waits until something is so; how long is wall time.

        Raises:
            GraphError: it did not become so in time, or the graph ended.
        """
        deadline = time.monotonic() + patience_s
        while not condition():
            self._require_alive()
            if time.monotonic() > deadline:
                raise self._error(f"not within {patience_s:g} s: {what}")
            time.sleep(LOOK_S)

    def wait_until(self, condition: Callable[[], bool], deadline_ns: int) -> None:
        """Waits until something is so, which it is at a time of the graph at the latest.

        Raises:
            GraphError: the graph ended, or its time stands still.
        """
        seen_ns, moved_s = self.now_ns(), time.monotonic()
        while not condition():
            self._require_alive()
            if (now_ns := self.now_ns()) != seen_ns:
                seen_ns, moved_s = now_ns, time.monotonic()
            if time.monotonic() - moved_s > STANDSTILL_S:
                left_s = (deadline_ns - now_ns) * 1e-9
                raise self._error(f"the graph's time stood still for {STANDSTILL_S:g} s, {left_s:.1f} s too early")
            time.sleep(LOOK_S)

    def wait_until_ready(self) -> None:
        """Waits until every node has said that it is well and the robot could be armed.

        Raises:
            GraphError: it did not get ready in time. The message says what was missing.
        """
        with self._explained():
            self.wait(lambda: not self._obstacle(), "the graph is ready to be armed")

    def arm(self) -> None:
        """Waits until the graph is ready, and arms the robot. What was recorded before is dropped.

        A robot that is armed is stopped before, and a latch is reset: each test begins at rest.

        Raises:
            GraphError: it did not get ready, or refuses. The message says why.
        """
        self.wait_until_ready()
        if self.operator.permission() is PermissionState.ARMED:
            self.stop()
        self.witness.forget()
        refusals = [""]

        def armed() -> bool:
            refusals[-1] = self._arm_once()
            return not refusals[-1]

        try:
            self.wait(armed, "the robot is armed")
        except GraphError as error:
            raise GraphError(f"{refusals[-1]}; {error}") from None

    def say(self, instruction: str) -> None:
        """Gives the robot a task, in words; where they ask for a task of the scene, success is judged by that one."""
        asked = None if self._scene is None or self._suite is None else self._suite.read(self._scene, instruction)
        if asked is not None and self._scene is not None and asked.task != self._scene.task:
            self._scene = asked
        self.operator.say(instruction)

    def stop(self) -> None:
        """Stops and latches the robot, and waits until it is at rest.

        Raises:
            GraphError: it did not stop.
        """

        def latched() -> bool:
            with contextlib.suppress(StoppedError):
                self.operator.stop()
            return self.operator.wait(lambda: self.operator.mode() is Mode.LATCHED, 2.0)

        self.wait(latched, "the robot is latched")
        self.wait(self.at_rest, "the robot is at rest")

    def mode(self) -> Mode | None:
        """Returns the control node's mode; `None` before it was heard."""
        return self.operator.mode()

    def at_rest(self) -> bool:
        """Returns whether the last joint states say that nothing moves: 20 of them, 0.2 s in simulation."""
        last = self.witness.measured[-REST_STATES:]
        return len(last) == REST_STATES and not any(self._rest.moving(velocity).any() for _, _, velocity in last)

    def stopped(self) -> bool:
        """Returns whether the control node says that the robot was stopped, and was not reset since."""
        control = self.operator.reports.newest(ControlState)
        return control is not None and control.mode.stopped

    def wait_until_moving(self, within_s: float) -> None:
        """Waits until the robot moves visibly, as after `say`.

        Args:
            within_s: of the graph's time.

        Raises:
            AssertionError: it did not in time, or was stopped before. The message says why.
            GraphError: the graph ended.
        """
        __tracebackhide__ = True
        deadline_ns = self.now_ns() + round(within_s * 1e9)
        limit, looked_at = MOVING * self.profile.vector("velocity"), len(self.witness.measured)

        def moving() -> bool:
            # Of all states since then: on a busy machine a short motion may be over before this process looks again.
            since = self.witness.measured[looked_at:]
            return any(bool((np.abs(velocity) > limit).any()) for _, _, velocity in since)

        self.wait_until(lambda: moving() or self.stopped() or self.now_ns() >= deadline_ns, deadline_ns)
        if self.stopped() or not moving():
            raise AssertionError(f"the robot does not move: {self._why_not(within_s)}")

    def wait_until_done(self, within_s: float) -> float:
        """Waits until the task of the simulated scene is done, as its suite judges: three times in a row.

        Args:
            within_s: of the graph's time.

        Returns:
            After how many seconds of the graph's time it was.

        Raises:
            AssertionError: it was not done in time, or the robot was stopped before. The message says why.
            GraphError: the graph ended.
            ConfigError: the backend is the mock, which has no tasks.
        """
        __tracebackhide__ = True
        began_ns, first, wanted = self.now_ns(), len(self.witness.tasks), self.instruction
        deadline_ns = began_ns + round(within_s * 1e9)

        def done() -> bool:
            newest = self.witness.tasks[first:][-HOLD_CHECKS:]
            return len(newest) == HOLD_CHECKS and all(task.done and task.instruction == wanted for task in newest)

        self.wait_until(lambda: done() or self.stopped() or self.now_ns() >= deadline_ns, deadline_ns)
        if not done():
            raise AssertionError(f"the task {wanted!r} is not done: {self._why_not(within_s)}")
        return (self.now_ns() - began_ns) * 1e-9

    def end(self) -> int:
        """Stops the robot, ends every process, and returns the exit code: 0 when no process had died before."""
        try:
            with contextlib.suppress(Exception):  # the processes are ended, whatever becomes of our own node
                self.operator.close()
        finally:
            code = self._end_processes()
        return code

    def _end_processes(self) -> int:
        try:
            return self.process.end()
        finally:
            self._claim.close()

    def _await_start(self) -> None:
        """Waits for the first process in the domain; `tendon run` looks whether it is alone before that."""
        deadline = time.monotonic() + READY_S
        while not in_use(self.domain):
            self._require_alive()
            if time.monotonic() > deadline:
                raise self._error(f"no process of the graph after {READY_S:g} s")
            time.sleep(LOOK_S)

    def _require_alive(self) -> None:
        if not self.process.alive():
            raise self._error("the graph has ended")

    def _error(self, text: str) -> GraphError:
        return GraphError(f"{text}; the last lines of {self.log}:\n{self.process.said(LOG_LINES)}")

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except GraphError as error:
            raise GraphError(f"{self._obstacle() or 'nothing is in the way any more'}; {error}") from None

    def _obstacle(self) -> str:
        """Returns what keeps the graph from being armed; empty when nothing does."""
        state = self.operator.reports.state(self.nodes)
        if silent := state.silent():
            return f"{', '.join(silent)} said nothing"
        if error := state.error(POLICY_NODE):
            return error
        if state.permission is PermissionState.LATCHED:
            return ""  # `arm` resets it
        monitor = state.monitor
        if monitor is not None and monitor.permission.reason:
            return f"safety_monitor: {monitor.permission.reason}"
        return "" if state.control is None else state.control.obstacle

    def _arm_once(self) -> str:
        """Tries to arm, and to reset before; returns why the robot is not armed, or nothing."""
        if not self.at_rest():
            return "the robot is not at rest"
        try:
            if self.operator.permission() is PermissionState.LATCHED or self.operator.mode() is Mode.LATCHED:
                self.operator.reset()
            if not self.operator.wait(lambda: self.operator.mode() is Mode.STANDBY, ANSWER_S):
                return f"the control node is {self.operator.mode()}, not in standby"
            began_ns = self.now_ns()
            self.operator.arm()
        except StoppedError as error:
            return str(error)
        if not self.operator.wait(lambda: (mode := self.operator.mode()) is not None and mode.moving, ANSWER_S):
            return "the control node did not follow the permission"
        self.armed_ns = began_ns
        self.times_armed += 1
        return ""

    def _why_not(self, within_s: float) -> str:
        if self.stopped():
            control = self.operator.reports.newest(ControlState)
            monitor = self.operator.reports.newest(MonitorState)
            texts = [state.text for state in (control, monitor) if state is not None and state.text]
            return f"the robot was stopped: {'; '.join(dict.fromkeys(texts)) or 'no reason was given'}"
        policy = self.operator.reports.status(POLICY_NODE)
        if policy is not None and policy.level is Level.ERROR:
            return f"{within_s:g} s passed; {POLICY_NODE}: {policy.text}"
        return f"{within_s:g} s passed"


def start_graph(arguments: Mapping[str, object], folder: Path) -> GraphUnderTest:
    """Starts a graph from Python values: `True` is true, a path is its text, `None` is left out.

    Raises:
        ConfigError: see `GraphUnderTest`.
    """
    return GraphUnderTest({name: _text(value) for name, value in arguments.items() if value is not None}, folder)


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _scene(arguments: Mapping[str, str], profile: RobotProfile) -> tuple[Suite | None, Scene | None]:
    """Returns the suite and the scene of a simulated graph."""
    if arguments["backend"] != "sim":
        return None, None
    suite = load_suite(suite_for(profile, arguments["suite"])).for_graph()
    return suite, suite.scene(profile, int(arguments["scene"]), arguments["family"])


def _environment(domain: int, graph: Graph, folder: Path) -> dict[str, str]:
    """Returns the variables that keep a graph to itself: domain, this machine, state and namespace."""
    return {
        "ROS_DOMAIN_ID": str(domain),
        RANGE_VARIABLE: "LOCALHOST",
        STATE_VARIABLE: str(folder / "state"),
        NAMESPACE_VARIABLE: graph.environment[NAMESPACE_VARIABLE],
    }


@contextlib.contextmanager
def _variables(wanted: Mapping[str, str]) -> Iterator[None]:
    """Sets variables of this process for as long as it takes to join the graph: other tests have their own."""
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value

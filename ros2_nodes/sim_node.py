"""The simulated robot: physics in real time or in lock-step, trajectory controllers, joint states.

Subscribes `CONTROLLER/joint_trajectory`, `instruction`; publishes `joint_states` 100 times a second, `sim/world_state`
for the camera process, `sim/task`, which says whether the task in the scene is done, and `sim/commanded`: what the
robot's controllers commanded in each physics step, in batches. Parameters `scene` and `family` may be set while it runs
and load another scene, at rest only; `jammed` names a joint that does not follow any more, "" frees it.
"""

from __future__ import annotations

import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from rcl_interfaces.msg import SetParametersResult
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory

from tendon.core.errors import ConfigError, TendonError
from tendon.core.types import Array
from tendon.ros2_nodes import conversion, qos, world_state
from tendon.ros2_nodes.lockstep import LockStep
from tendon.ros2_nodes.runtime import Urgency, run_node
from tendon.ros2_nodes.shell import ERROR, OK, WARN, NodeShell
from tendon.ros2_nodes.simulated_robot import SimulatedRobot
from tendon.sim.scene import Scene, sample_scene
from tendon.sim.world import PHYSICS_HZ

SECOND_NS = 1_000_000_000
STATE_HZ = 100
JUDGE_HZ = 10
COMMANDED_BATCH = 30
SLIP_NS = 100_000_000
"""Physics that is later than this gives up catching up, and time in the simulation jumps."""
STALL_NS = 15_000_000
"""Physics that did not run for longer waits as long again for what came meanwhile: receivers stood still as well."""
LONGEST_SETTLE_S = 0.05
FINISH_S = 2.0


class SimNode(NodeShell):
    """Runs the simulated robot in a thread of its own."""

    def __init__(self) -> None:
        super().__init__("sim_node", tunable=True)
        scene = _scene(self.setting("scene", 0), self.setting("family", ""))
        self._robot = SimulatedRobot(self.profile, scene, gui=self.setting("gui", False))
        self._label = world_state.scene_label(scene)
        self._camera_hz = max((camera.rate_hz for camera in self.profile.cameras), default=1.0)
        self._next_scene: Scene | None = None
        self._commands: deque[tuple[int, str, dict[str, Any]]] = deque(maxlen=64)
        self._words: deque[str] = deque(maxlen=8)
        self._commanded: list[tuple[int, Array, Array]] = []
        self._next_jam: str | None = self.setting("jammed", "") or None
        self._rejected = ""
        self._slips = 0
        self._done = False
        self._steps = 0
        self._physics, self._received = self.meter("physics"), self.meter("command")
        self._states = self.create_publisher(JointState, "joint_states", qos.NEWEST)
        self._worlds = self.create_publisher(JointState, world_state.TOPIC, qos.NEWEST)
        self._tasks = self.create_publisher(DiagnosticArray, "sim/task", qos.NEWEST)
        self._batches = self.create_publisher(JointTrajectory, world_state.COMMANDED_TOPIC, qos.EACH)
        self._lockstep = None
        if self.setting("lockstep", False):
            self._lockstep = LockStep(self, round(SECOND_NS / self.profile.control_hz))
        for controller in self.profile.controllers:
            take = partial(self._take, controller.name)
            self.create_subscription(JointTrajectory, f"{controller.name}/joint_trajectory", take, qos.EACH, raw=True)
        self.create_subscription(String, "instruction", self._instructed, qos.LATCHED)
        self.add_on_set_parameters_callback(self._set)
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="physics")

    def start(self) -> None:
        """Starts physics."""
        self._thread.start()

    def health(self) -> tuple[bytes, str]:
        """Returns whether physics keeps up and controllers accept what they are sent."""
        if not self._thread.is_alive():
            return ERROR, "physics has ended"
        if self._lockstep is not None and self._lockstep.late:
            return ERROR, self._lockstep.late
        if self._rejected:
            return WARN, f"rejected: {self._rejected}"
        return OK, "lock-step" if self._lockstep is not None else "real time"

    def facts(self) -> dict[str, object]:
        """Returns the scene and how often physics was too late."""
        return {"scene": self._label, "slips": self._slips, "done": self._done}

    def _take(self, controller: str, data: bytes) -> None:
        try:
            trajectory = conversion.trajectory(data)
        except TendonError as error:
            self._reject(controller, error)
            return
        stamp_ns, now_ns = trajectory["stamp_ns"], self._now_ns()
        self._commands.append((min(stamp_ns or now_ns, now_ns), controller, trajectory))
        self._received.add(now_ns - stamp_ns)
        if self._lockstep is not None:
            self._lockstep.commanded(stamp_ns)

    def _reject(self, controller: str, error: TendonError) -> None:
        self._received.drop()
        self._rejected = f"{controller}: {error}"

    def _instructed(self, message: String) -> None:
        self._words.append(str(message.data))

    def _now_ns(self) -> int:
        return self.time.now_ns() if self._lockstep is None else self._lockstep.now_ns

    def _set(self, parameters: list[Parameter]) -> SetParametersResult:
        for parameter in parameters:
            if parameter.name == "jammed":
                joint = str(parameter.value)
                if joint and joint not in self.profile.joint_names:
                    return SetParametersResult(successful=False, reason=f"there is no joint {joint}")
                self._next_jam = joint
                return SetParametersResult(successful=True)
        wanted = {name: self.get_parameter(name).value for name in ("scene", "family")}
        wanted |= {parameter.name: parameter.value for parameter in parameters if parameter.name in wanted}
        try:
            scene = _scene(**wanted)
        except ConfigError as error:
            return SetParametersResult(successful=False, reason=str(error))
        if self._robot.moving:
            return SetParametersResult(successful=False, reason="the robot is in motion: stop it first")
        self._next_scene = scene
        return SetParametersResult(successful=True)

    def _run(self) -> None:
        try:
            if self._lockstep is None:
                self._run_in_real_time()
            else:
                self._run_in_lock_step(self._lockstep)
        except Exception as error:  # the top of this thread: physics is gone, health says so
            self.get_logger().error(f"physics ended: {type(error).__name__}: {error}")
            raise

    def _run_in_real_time(self) -> None:
        begin_ns, first = self.time.now_ns(), self._steps
        ran_ns = begin_ns
        while not self._closing.is_set():
            deadline_ns = begin_ns + (self._steps + 1 - first) * SECOND_NS // PHYSICS_HZ
            self.time.sleep_until_ns(deadline_ns)
            stalled_ns = self.time.now_ns() - ran_ns
            if stalled_ns > STALL_NS:
                time.sleep(min(stalled_ns * 1e-9, LONGEST_SETTLE_S))
            ran_ns = self.time.now_ns()
            late_ns = ran_ns - deadline_ns
            if late_ns > SLIP_NS:
                self._slips += 1
                begin_ns += late_ns
                deadline_ns += late_ns
            self._physics.add(late_ns)
            self._step(deadline_ns)
            self.beat()

    def _run_in_lock_step(self, lockstep: LockStep) -> None:
        steps = round(PHYSICS_HZ / self.profile.control_hz)
        begin_ns, first_ns = self.time.now_ns(), lockstep.now_ns
        while not self._closing.is_set():
            before_ns = lockstep.now_ns
            lockstep.advance()  # first, so that no state is ahead of the clock
            for k in range(1, steps + 1):
                self._step(before_ns + k * (lockstep.now_ns - before_ns) // steps)
            self._physics.add()
            # Never faster than real time: inference takes the time it takes, in this mode too.
            self.time.sleep_until_ns(begin_ns + lockstep.now_ns - first_ns)
            while not lockstep.wait(0.02) and not self._closing.is_set():
                self.beat()
            begin_ns = max(begin_ns, self.time.now_ns() - (lockstep.now_ns - first_ns))
            self.beat()

    def _step(self, now_ns: int) -> None:
        robot = self._robot
        if self._next_scene is not None:
            self._load(self._next_scene)
        if self._next_jam is not None:
            robot.jam(self._next_jam)
            self._next_jam = None
        # Physics that is late makes up for it as a robot that was never late: it takes each command when it was due.
        while self._commands and self._commands[0][0] <= now_ns:
            _, controller, trajectory = self._commands.popleft()
            try:
                robot.accept(controller, trajectory, now_ns)
                self._rejected = ""
            except TendonError as error:
                self._reject(controller, error)
        while self._words:
            robot.judge(self._words.popleft())
        robot.step(now_ns)
        self._steps += 1
        self._commanded.append((now_ns, *robot.commanded()))
        if len(self._commanded) == COMMANDED_BATCH:
            self._batches.publish(world_state.commanded_bytes(self.profile.joint_names, self._commanded))
            self._commanded.clear()
        if self._due(STATE_HZ):
            state = conversion.joint_state_message(now_ns, self.profile.joint_names, *robot.world.joint_state())
            self._states.publish(state)
        if self._due(self._camera_hz):
            self._worlds.publish(world_state.world_state_message(now_ns, self._label, robot.world.state()))
        if self._due(JUDGE_HZ):
            self._judge(now_ns)

    def _due(self, rate_hz: float) -> bool:
        return int(self._steps * rate_hz) // PHYSICS_HZ != int((self._steps - 1) * rate_hz) // PHYSICS_HZ

    def _load(self, scene: Scene) -> None:
        self._next_scene = None
        try:
            self._robot.load(scene)
            self._label = world_state.scene_label(scene)
        except TendonError as error:
            self.get_logger().warning(str(error))

    def _judge(self, now_ns: int) -> None:
        self._done = self._robot.world.succeeded()
        scene = self._robot.world.scene
        values = {"scene": self._label, "instruction": scene.instruction, "relation": scene.task.relation}
        text = "done" if self._done else "not done"
        status = conversion.status("task", OK, text, {**values, "done": str(self._done).lower()})
        self._tasks.publish(conversion.diagnostics(now_ns, status))

    def finish(self, spin: Callable[[], None]) -> None:
        """Lets the robot play its stop to the end."""
        deadline_ns = self.time.now_ns() + int(FINISH_S * SECOND_NS)
        while self._robot.moving and self.time.now_ns() < deadline_ns:
            spin()

    def close(self) -> None:
        """Ends physics."""
        self._closing.set()
        if self._thread.is_alive():
            self._thread.join(1.0)
        self._robot.world.close()
        super().close()


def _scene(scene: int, family: str) -> Scene:
    try:
        return sample_scene(scene, family or None)
    except ValueError as error:
        raise ConfigError(f"scene:={scene} family:={family}: {error}") from error


def main() -> int:
    """Runs the node."""
    return run_node(SimNode, Urgency.SECOND)


if __name__ == "__main__":
    sys.exit(main())

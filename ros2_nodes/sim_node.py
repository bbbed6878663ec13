"""The simulated robot: physics, trajectory controllers, joint states, and simulated time.

Subscribes `CONTROLLER/joint_trajectory`, `instruction`; publishes `joint_states` 100 times a second, `sim/world_state`
for the camera process and the expert, `sim/task`, which says whether the task in the scene is done, and
`sim/commanded`: what the robot's controllers commanded in each physics step, in batches. Parameters `scene` and
`family` may be set while it runs and load another scene, at rest only; `jammed` names a joint that does not follow any
more, "" frees it; `muted` keeps joint states back while all else goes on, and `frozen` repeats the last one with new
stamps.

Time goes as in every node that stands in for a robot (`stand_in`). In real time, physics that is late makes up for it.
"""

from __future__ import annotations

import sys
import time
from collections import deque

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from rcl_interfaces.msg import SetParametersResult
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from tendon.core.errors import ConfigError, TendonError
from tendon.core.node_status import NodeStatus, SimulationStatus
from tendon.core.types import Array, Observation, SentTrajectory
from tendon.evaluation.suites import DEFAULT_SUITE, load_suite
from tendon.graph import topics
from tendon.ros2_nodes import wire
from tendon.ros2_nodes.base import qos
from tendon.ros2_nodes.base.announcements import overhear
from tendon.ros2_nodes.base.runtime import Urgency, run_node
from tendon.ros2_nodes.stand_ins.simulated_robot import SimulatedRobot
from tendon.ros2_nodes.stand_ins.stand_in import StandIn
from tendon.ros2_nodes.wire.world_state import scene_label, world_state_message
from tendon.safety.reports import TaskState
from tendon.sim.engine import PHYSICS_HZ
from tendon.sim.exposures import exposes
from tendon.sim.robot_urdf import missing_meshes
from tendon.sim.simulators import AUTO
from tendon.sim.suite import Scene

STATE_HZ = 100
JUDGE_HZ = 10
SHOWN_HZ = 10
"""How often the state of the world is published when there is no camera."""
COMMANDED_BATCH = 30
SLIP_NS = 100_000_000
"""Physics that is later than this gives up catching up while nothing is commanded to move, and time in the simulation
jumps. In motion it would be the setpoints that jump: servos overshot by 24 mm, into the table."""
GRID_NS = 50_000_000
"""Joint states are measured at whole multiples of it, as cameras without a phase expose."""
STALL_NS = 15_000_000
"""Physics that did not run for longer first lets the executor take what came meanwhile: it stood still as well."""
SETTLE_S = 0.002


class SimNode(StandIn):
    """Runs the simulated robot."""

    def __init__(self) -> None:
        super().__init__("sim_node", loop="physics")
        self._suite = load_suite(self.setting("suite", DEFAULT_SUITE)).for_graph()
        scene = self._scene(self.setting("scene", 0), self.setting("family", ""))
        simulator, gui = self.setting("simulator", AUTO), self.setting("gui", False)
        self._robot = SimulatedRobot(self.profile, self._suite, scene, simulator, gui)
        self._label = scene_label(scene)
        if missing := missing_meshes(self.profile):
            self.get_logger().info(f"{missing[0]} is not here: links are drawn as the collision model has them")
        self._next_scene: Scene | None = None
        self._words: deque[str] = deque(maxlen=8)
        self._commanded: list[tuple[int, Array, Array]] = []
        self._muted = self.setting("muted", False)
        self._measured = self._measure()
        self._frozen = self.setting("frozen", False)
        self._next_jam: str | None = self.setting("jammed", "") or None
        self._slips = 0
        self._done = False
        self._steps, self._stepped_ns = 0, 0
        self._states = self.create_publisher(JointState, topics.JOINT_STATES, qos.NEWEST)
        self._worlds = self.create_publisher(JointState, topics.WORLD_STATE, qos.NEWEST)
        self._tasks = self.create_publisher(DiagnosticArray, wire.TASK.name, qos.NEWEST)
        self._batches = self.create_publisher(JointTrajectory, topics.COMMANDED, qos.EACH)
        for controller in self.profile.controllers:
            self.take_trajectories(controller, self._robot.accept)
        for topic in (topics.INSTRUCTION, topics.FOLLOWED_INSTRUCTION):
            overhear(self, topic, self._words.append)
        self.add_on_set_parameters_callback(self._set)

    @property
    def moving(self) -> bool:
        """Whether a controller commands motion."""
        return self._robot.moving

    def commanded(self, now_ns: int) -> tuple[Array, Array]:
        """Returns what the controllers command."""
        return self._robot.sample(now_ns)

    def measured(self, now_ns: int) -> Observation:
        """Returns where the joints are."""
        position, velocity = self._robot.joint_state()
        return Observation(stamp_ns=now_ns, joint_position=position, joint_velocity=velocity)

    def describe(self, status: NodeStatus) -> NodeStatus:
        """Returns a status with the scene, how often physics was too late, and how time goes."""
        return SimulationStatus(**vars(status), **self.pace(), scene=self._label, slips=self._slips, done=self._done)

    def _set(self, parameters: list[Parameter]) -> SetParametersResult:
        for parameter in parameters:
            if parameter.name == "muted":
                self._muted = bool(parameter.value)
                return SetParametersResult(successful=True)
            if parameter.name == "frozen":
                self._frozen = bool(parameter.value)
                return SetParametersResult(successful=True)
            if parameter.name == "jammed":
                joint = str(parameter.value)
                if joint and joint not in self.profile.joint_names:
                    return SetParametersResult(successful=False, reason=f"there is no joint {joint}")
                self._next_jam = joint
                return SetParametersResult(successful=True)
        wanted = {name: self.get_parameter(name).value for name in ("scene", "family")}
        wanted |= {parameter.name: parameter.value for parameter in parameters if parameter.name in wanted}
        try:
            scene = self._scene(**wanted)
        except ConfigError as error:
            return SetParametersResult(successful=False, reason=str(error))
        if self._robot.moving:
            return SetParametersResult(successful=False, reason="the robot is in motion: stop it first")
        self._next_scene = scene
        return SetParametersResult(successful=True)

    def play_in_real_time(self) -> None:
        """Steps physics by the wall clock; each step has its own due time, however late it is."""
        begin_ns, first = self.time.now_ns(), self._steps
        begin_ns -= begin_ns % GRID_NS
        ran_ns = begin_ns
        while not self.closing.is_set():
            deadline_ns = begin_ns + (self._steps + 1 - first) * wire.SECOND_NS // PHYSICS_HZ
            self.time.sleep_until_ns(deadline_ns)
            stalled_ns = self.time.now_ns() - ran_ns
            if stalled_ns > STALL_NS:
                time.sleep(SETTLE_S)
            ran_ns = self.time.now_ns()
            late_ns = ran_ns - deadline_ns
            if late_ns > SLIP_NS and not self._robot.moving:
                self._slips += 1
                slip_ns = late_ns - late_ns % GRID_NS
                begin_ns += slip_ns
                deadline_ns += slip_ns
            self.late.add(late_ns)
            self._step(deadline_ns)
            self.beat()

    def play(self, before_ns: int, now_ns: int) -> None:
        """Steps physics from one simulated time to the next."""
        steps = round(PHYSICS_HZ / self.profile.control_hz)
        for k in range(1, steps + 1):
            self._step(before_ns + k * (now_ns - before_ns) // steps)

    def _step(self, now_ns: int) -> None:
        robot = self._robot
        if self._next_scene is not None:
            self._load(self._next_scene)
        if self._next_jam is not None:
            robot.jam(self._next_jam)
            self._next_jam = None
        self.obey(now_ns)
        while self._words:
            robot.judge(self._words.popleft())
        robot.step(now_ns)
        self._steps += 1
        self._commanded.append((now_ns, *robot.commanded()))
        if len(self._commanded) == COMMANDED_BATCH:
            self._batches.publish(self._batch())
            self._commanded.clear()
        if self._due(STATE_HZ) and not self._muted:
            if not self._frozen:
                self._measured = self._measure()
            self._states.publish(wire.joint_state_message(now_ns, self.profile.joint_names, *self._measured))
        if self._shows(now_ns):
            self._worlds.publish(world_state_message(now_ns, self._label, robot.world.state()))
        if self._due(JUDGE_HZ):
            self._judge(now_ns)
        self._stepped_ns = now_ns

    def _shows(self, now_ns: int) -> bool:
        """Whether the state of the world is due: as cameras expose; an expert without any still looks at it."""
        if not self.profile.cameras:
            return self._due(SHOWN_HZ)
        return any(exposes(camera, self._stepped_ns, now_ns) for camera in self.profile.cameras)

    def _measure(self) -> tuple[Array, Array, Array]:
        """Returns (n,) position, velocity and effort."""
        return (*self._robot.joint_state(), self._robot.world.joint_effort())

    def _batch(self) -> bytes:
        stamps_ns, position, velocity = zip(*self._commanded, strict=True)
        sent = SentTrajectory(
            stamp_ns=stamps_ns[0],
            joint_names=self.profile.joint_names,
            times_ns=[stamp_ns - stamps_ns[0] for stamp_ns in stamps_ns],
            position=np.array(position),
            velocity=np.array(velocity),
        )
        return wire.write_trajectory(sent)

    def _due(self, rate_hz: float) -> bool:
        return int(self._steps * rate_hz) // PHYSICS_HZ != int((self._steps - 1) * rate_hz) // PHYSICS_HZ

    def _load(self, scene: Scene) -> None:
        self._next_scene = None
        try:
            self._robot.load(scene)
            self._label = scene_label(scene)
        except TendonError as error:
            self.get_logger().warning(str(error))

    def _judge(self, now_ns: int) -> None:
        scene = self._robot.scene
        self._done = scene.task.success(self._robot.world)
        state = TaskState(
            scene=self._label, instruction=scene.instruction, relation=scene.task.relation, done=self._done
        )
        self._tasks.publish(wire.TASK.encode(state, now_ns))

    def _scene(self, scene: int, family: str) -> Scene:
        try:
            return self._suite.scene(self.profile, scene, family)
        except ValueError as error:
            raise ConfigError(f"scene:={scene} family:={family}: {error}") from error

    def close(self) -> None:
        """Ends physics."""
        super().close()
        self._robot.world.close()


def main() -> int:
    """Runs the node."""
    return run_node(SimNode, Urgency.SECOND)


if __name__ == "__main__":
    sys.exit(main())

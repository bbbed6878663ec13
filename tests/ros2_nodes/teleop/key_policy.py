"""A person at the keyboard, scripted: looks at the simulated table, and presses one key at a time until a task is done.

What to do next is the scripted expert's (`sim/tabletop/expert/decide.py`); how is a person's: one axis after the other,
long ways by holding a key, short ones by tapping it, and then waiting until the arm is still.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState

from tendon.core.modes import Mode, PermissionState
from tendon.graph import topics
from tendon.robots.kinematics import Kinematics
from tendon.robots.profile import RobotProfile
from tendon.ros2_nodes import wire
from tendon.ros2_nodes.base import qos
from tendon.ros2_nodes.wire.world_state import world_state
from tendon.safety.reports import TaskState
from tendon.sim.tabletop.expert.decide import CLOSED, Decision, ExpertState, decide, to_vector
from tendon.sim.tabletop.scene import Scene, sample_scene
from tendon.sim.tabletop.world import item_place
from tendon.sim.world_state import WorldState
from tests.ros2_nodes.running_graph import RunningGraph
from tests.ros2_nodes.teleop.person import Typist

LIMIT_S = 90.0
"""For a task, simulated time."""
HOLD_CHECKS = 3
"""So many times in a row it has to be done, as in `tendon eval`."""
NEAR_M = 0.006
"""What a person does not correct any more."""
FAR_M = 0.05
"""From here on a key is held, not tapped."""
BRAKES_M = 0.032
"""How far the tool goes on after the key was let go of, at full speed: what the terminal, the node and the control loop
take, and the braking."""
STILL = 0.02
"""Of each joint [rad/s]."""
AXES = (("w", "s"), ("a", "d"), ("r", "f"))
SETTLED_S = 0.8
"""After arming: an earlier press does not count."""
CLOSING_S, OPENING_S = 1.0, 0.8
LOOK_S = 0.01


class Tabletop:
    """The simulated table of a running graph, as a person sees it.

    Args:
        graph: `backend:=sim policy:=none`.
        profile: its robot.
    """

    def __init__(self, graph: RunningGraph, profile: RobotProfile) -> None:
        self.graph, self._profile = graph, profile
        self._kinematics, self._gripper = Kinematics(profile), profile.grippers[0]
        self._finger = profile.joint_names.index(self._gripper.joint)
        self._state: WorldState | None = None
        self.tasks: list[TaskState] = []
        node = graph.operator.node
        node.create_subscription(JointState, topics.WORLD_STATE, self._see, qos.NEWEST)
        node.create_subscription(DiagnosticArray, wire.TASK.name, self._judge, qos.EACH)
        self._set = node.create_client(SetParametersAtomically, "sim_node/set_parameters_atomically")

    def _see(self, message: JointState) -> None:
        _, _, self._state = world_state(message)

    def _judge(self, message: object) -> None:
        self.tasks.append(wire.TASK.decode(message))  # type: ignore[arg-type]

    def load(self, seed: int, family: str) -> Scene:
        """Stops the robot, sets the table anew, and arms."""
        scene = sample_scene(seed, family)
        self.graph.stop()
        values = [Parameter("scene", value=seed), Parameter("family", value=family)]
        request = SetParametersAtomically.Request(parameters=[value.to_parameter_msg() for value in values])

        def loaded() -> bool:
            future = self._set.call_async(request)
            return self.graph.operator.wait(future.done, 5.0) and future.result().result.successful

        self.graph.wait(loaded, f"scene {seed}")
        label = f"{scene.task.family}/{seed}"
        self.tasks.clear()
        self.graph.wait(lambda: bool(self.tasks) and self.tasks[-1].scene == label, "the new scene")

        def armed() -> bool:
            """The monitor compares the new pose with the last command before it, once: then it is armed again."""
            self.graph.arm()
            self.graph.pause(SETTLED_S)
            return self.graph.state() is PermissionState.ARMED and not self.stopped()

        self.graph.wait(armed, "armed")
        self.tasks.clear()
        return scene

    def seen(self, scene: Scene) -> ExpertState:
        """Returns what the expert looks at."""
        state = self._state
        assert state is not None, "nothing of the world was heard"
        _, position, velocity = self.graph.states[-1]
        places = zip(scene.items, state.poses, strict=True)
        opening = state.openings[0] if state.openings else 0.0
        return ExpertState(
            tool=to_vector(self._kinematics.tool_pose(position)[0]),
            velocity=to_vector(self._kinematics.tool_velocity(position, velocity)),
            finger=self._gripper.half_width(float(position[self._finger])),
            items={i: to_vector(item_place(item, pose, opening)) for i, (item, pose) in enumerate(places)},
            held=state.held[0] if state.held[0] >= 0 else None,
            opening=opening,
        )

    def done(self) -> bool:
        """Returns whether the task is, as the simulation judges."""
        last = self.tasks[-HOLD_CHECKS:]
        return len(last) == HOLD_CHECKS and all(task.done for task in last)

    def stopped(self) -> bool:
        """Returns whether something stopped the robot."""
        mode = self.graph.mode()
        return (mode is not None and mode.stopped) or self.graph.state() is PermissionState.LATCHED


class KeyPolicy:
    """Does a task by keys.

    Args:
        table: what is seen.
        typist: the keys.
    """

    def __init__(self, table: Tabletop, typist: Typist) -> None:
        self._table, self._typist, self._graph = table, typist, table.graph
        self.presses = 0

    def full_speed(self) -> None:
        """Makes the keys fast."""
        for _ in range(2):
            self._typist.tap("+")
            time.sleep(0.3)

    def do(self, scene: Scene) -> bool:
        """Returns whether the task was done in time."""
        until_ns = self._graph.now_ns() + round(LIMIT_S * 1e9)
        closed: bool | None = None
        while not self._table.done() and not self._table.stopped() and self._graph.now_ns() < until_ns:
            if not self._still():
                time.sleep(LOOK_S)
                continue
            state = self._table.seen(scene)
            decision = decide(scene, state, scene.task)
            shuts = decision.finger == CLOSED
            if shuts and closed is not True:
                self._hold("c", CLOSING_S)
                closed = True
            elif not shuts and closed:
                self._hold("v", OPENING_S)
                closed = False
            elif not self._approach(scene, state, decision):
                time.sleep(LOOK_S)
        self._typist.release()
        return self._table.done()

    def _approach(self, scene: Scene, state: ExpertState, decision: Decision) -> bool:
        away = np.array(decision.goal) - np.array(state.tool)
        axis = int(np.abs(away).argmax())
        if abs(away[axis]) < NEAR_M:
            return False
        key = AXES[axis][0 if away[axis] > 0 else 1]
        self.presses += 1
        if abs(away[axis]) < FAR_M:
            self._typist.tap(key)
            self._after_press()
            return True
        side = np.sign(away[axis])

        def there() -> bool:
            now = self._table.seen(scene)
            goal = decide(scene, now, scene.task).goal
            return bool(side * (goal[axis] - now.tool[axis]) < BRAKES_M)

        self._typist.hold(key)
        self._wait(there, 8.0)
        self._typist.release()
        self._after_press()
        return True

    def _hold(self, key: str, seconds: float) -> None:
        self.presses += 1
        self._typist.hold(key)
        self._graph.pause(seconds + 0.3)
        self._typist.release()
        self._after_press()

    def _after_press(self) -> None:
        self._graph.pause(0.25)

    def _wait(self, condition: Callable[[], bool], seconds: float) -> None:
        until_ns = self._graph.now_ns() + round(seconds * 1e9)
        while not condition() and self._graph.now_ns() < until_ns and not self._table.stopped():
            time.sleep(LOOK_S)

    def _still(self) -> bool:
        mode = self._graph.mode()
        _, _, velocity = self._graph.states[-1]
        return mode in (Mode.ARMED, Mode.RUNNING) and float(np.abs(velocity[:7]).max()) < STILL

"""A person with a gamepad, scripted: both sticks and two buttons at once, so the tool goes straight to where it should.

What to do next is the scripted expert's (`sim/tabletop/expert/decide.py`), of what `Tabletop` sees.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from tendon.core.types import Array
from tendon.graph.description import teleop_process
from tendon.sim.tabletop.expert.decide import OPEN, Decision, ExpertState, decide
from tendon.sim.tabletop.scene import Scene
from tests.ros2_nodes.teleop.hands import Wire, with_fifos
from tests.ros2_nodes.teleop.key_policy import Tabletop
from tests.ros2_nodes.teleop.person import Typist
from tests.teleop import streams

LIMIT_S = 30.0
"""For a task, simulated time."""
LOOK_S = 0.02
GAIN_PER_S = 6.0
"""How hard the sticks are pushed for a metre to go."""
NEAR_M, SLOWEST_M_S = 0.004, 0.05
"""Farther away it is never slower: who creeps shows a policy to creep."""
AHEAD_S = 0.12
"""For how long the tool goes on as it goes, until the sticks count."""
SPEED_M_S, DEADZONE = 0.4, 0.08
MAP = f"""\
hold: [BTN_TL]
axes:
  x: [-ABS_Y]
  y: [-ABS_X]
  z: [-ABS_RY]
  gripper: [BTN_EAST, -BTN_SOUTH]
faster: [BTN_START]
linear_speed: {SPEED_M_S}
gripper_speed: 2.5
deadzone: {DEADZONE}
"""
BTN_SOUTH, BTN_EAST, BTN_TL, BTN_START = streams.BTN_SOUTH, 0x131, streams.BTN_TL, 0x13B
AFTER_S = 0.6
"""It goes on for so long after the task is done: the tool rises."""
FINGER_M = 0.002


class Pad:
    """A gamepad that is a FIFO, and the process of the node that reads it.

    Args:
        table: whose robot it leads.
        robot: its profile, as the graph was told.
        folder: for FIFO and map.
    """

    def __init__(self, table: Tabletop, robot: str, folder: Path) -> None:
        self._table, self._robot = table, robot
        self._wire, self._map = Wire(folder / "pad"), folder / "pad.yaml"
        self._map.write_text(MAP)

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Takes it in the hand at full speed, and puts it away in the end."""
        process = teleop_process(
            robot=self._robot,
            backend="sim",
            simulated_time=True,
            devices=[f"gamepad:{self._wire.path}"],
            maps=[str(self._map)],
        )
        with Typist(with_fifos(process.command), clock_ns=self._table.graph.now_ns) as typist:
            typist.await_panel()
            for _ in range(2):
                self.say((streams.EV_KEY, BTN_START, 1))
                time.sleep(0.2)
                self.say((streams.EV_KEY, BTN_START, 0))
                time.sleep(0.2)
            yield

    def say(self, *events: tuple[int, int, int]) -> None:
        """Sends a frame of events."""
        self._wire.write(streams.event_bytes(events, 0))

    def push(self, velocity: Array, finger: int) -> None:
        """Pushes the sticks for a velocity of the tool, with the deadman held; `finger` is 1 to open, -1 to close."""
        part = np.clip(velocity / SPEED_M_S, -1.0, 1.0)
        beyond = np.where(np.abs(part) < 1e-3, 0.0, np.sign(part) * (DEADZONE + (1.0 - DEADZONE) * np.abs(part)))
        x, y, z = (int(32767 * each) for each in beyond)
        self.say(
            (streams.EV_KEY, BTN_TL, 1),
            (streams.EV_ABS, streams.ABS_Y, -x),
            (streams.EV_ABS, streams.ABS_X, -y),
            (streams.EV_ABS, streams.ABS_RY, -z),
            (streams.EV_KEY, BTN_EAST, int(finger > 0)),
            (streams.EV_KEY, BTN_SOUTH, int(finger < 0)),
        )

    def let_go(self) -> None:
        """Lets go of everything."""
        sticks = ((streams.EV_ABS, axis, 0) for axis in (streams.ABS_X, streams.ABS_Y, streams.ABS_RY))
        self.say(*sticks, *((streams.EV_KEY, button, 0) for button in (BTN_EAST, BTN_SOUTH, BTN_TL)))


class PadPolicy:
    """Does a task with a gamepad.

    Args:
        table: what is seen.
        pad: in the hand.
    """

    def __init__(self, table: Tabletop, pad: Pad) -> None:
        self._table, self._pad, self._graph = table, pad, table.graph

    def do(self, scene: Scene) -> bool:
        """Returns whether the task was done in time."""
        begun_ns = self._graph.now_ns()
        done_ns = 0
        while not self._table.stopped():
            now_ns = self._graph.now_ns()
            if self._table.done() and not done_ns:
                done_ns = now_ns
            if now_ns - begun_ns > LIMIT_S * 1e9 or (done_ns and now_ns - done_ns > AFTER_S * 1e9):
                break
            state = self._table.seen(scene)
            decision = decide(scene, state, scene.task)
            self._pad.push(self._velocity(state, decision), self._finger(state, decision))
            time.sleep(LOOK_S)
        self._pad.let_go()
        return bool(done_ns) and self._table.done()

    @staticmethod
    def _velocity(state: ExpertState, decision: Decision) -> Array:
        away = np.array(decision.goal) - (np.array(state.tool) + AHEAD_S * np.array(state.velocity))
        distance = float(np.linalg.norm(away))
        if distance < NEAR_M:
            return GAIN_PER_S * away
        return away / distance * min(max(GAIN_PER_S * distance, SLOWEST_M_S), decision.speed)

    @staticmethod
    def _finger(state: ExpertState, decision: Decision) -> int:
        away = decision.finger - state.finger
        if decision.finger == OPEN:
            return int(away > FINGER_M)
        return -1 if decision.finger == 0.0 else int(np.sign(away)) * int(abs(away) > FINGER_M)

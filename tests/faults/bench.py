"""One graph of real processes that is set in motion, broken, watched and healed, again and again."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import tempfile
import threading
import time
from functools import cached_property
from pathlib import Path

import numpy as np

from tendon.core.errors import StoppedError
from tendon.core.modes import Mode
from tendon.core.node_status import Level, RecorderStatus
from tendon.core.types import ActionChunk, Array
from tendon.graph import topics
from tendon.graph.description import RESPAWN_LIMIT, RESPAWN_WINDOW_S
from tendon.robots.kinematics import Kinematics
from tendon.robots.rest import Rest
from tendon.ros2_nodes import wire
from tendon.ros2_nodes.clients.witness import Witness
from tests.faults.disk import RecordingDisk, StateDisk
from tests.faults.table import Table
from tests.ros2_nodes.running_graph import PROFILE, STEP_NS, RunningGraph
from tests.ros2_nodes.tiny_bundle import write_tiny_bundle

REST = Rest(PROFILE)
HIGH_M, LOW_M = (0.40, -0.25, 0.35), (0.55, 0.25, 0.05)
"""Ends of the path on which faults happen; the lower one is near the table."""
SCENE = 100_062
"""Three small things, none below the low part of that path and none fixed: an object throws the arm off any command."""
SWING_S = 1.6
"""From one end to the other."""
BLEND_S = 1.0
TOOL_DOWN = np.diag([1.0, -1.0, -1.0])
CHUNK_ROWS = 10
NODES = ("sim_node", "control_node", "safety_monitor", "camera_node", "policy_node", "recorder_node")
SEND_S = 0.1
FRESH_S = 0.5
FINGER = PROFILE.joint_names.index("panda_finger_joint1")


class Bench:
    """A running graph, a witness, and what makes the robot move. Starts another graph when another kind is asked for.

    With `grip` set, the swing closes the gripper to that position [m].

    Args:
        folder: logs and bundles go there.
        seed: of the moments at which faults happen.
        clock: of the graphs, simulated or realtime.
    """

    def __init__(self, folder: Path | None = None, seed: int = 0, clock: str = "simulated") -> None:
        self.clock = clock
        self.folder = folder or Path(tempfile.mkdtemp(prefix="tendon-faults-"))
        self.random = random.Random(seed)
        self.disk = StateDisk(self.folder / "state")
        self.kinematics = Kinematics(PROFILE)
        self.table = Table()
        seed_pose = PROFILE.vector("home")
        self._ends = [self.kinematics.inverse(np.array(end), TOOL_DOWN, seed_pose) for end in (HIGH_M, LOW_M)]
        self._kind = ("", "")
        self._running: RunningGraph | None = None
        self._count = 0
        self._swinging = threading.Event()
        self._begin_ns, self._phase, self._offset = 0, 0.0, np.zeros(len(PROFILE.joint_names))
        self._side = "left"
        self.grip: float | None = None
        self._deaths: dict[str, list[float]] = {}
        self.pids: dict[str, int] = {}
        self.witness: Witness

    @cached_property
    def recordings(self) -> RecordingDisk:
        """The disk of what is recorded."""
        return RecordingDisk(self.folder / "recordings")

    @property
    def graph(self) -> RunningGraph:
        """The graph that runs.

        Raises:
            LookupError: none does.
        """
        if self._running is None:
            raise LookupError("no graph runs: call `use` first")
        return self._running

    def use(self, kind: str, clock: str = "") -> RunningGraph:
        """Returns a graph that is ready to be armed, on a clock of its own or the bench's.

        Of the kinds, "swing" has no policy node, "policy" has a tiny one, "recorded" is a swing that is recorded.
        """
        clock = clock or self.clock
        if self._running is None or self._kind != (kind, clock) or self._worn_out():
            self.end()
            self._count += 1
            self._deaths.clear()
            arguments = [f"scene:={SCENE}", f"clock:={clock}", "policy:=none"]
            if kind == "policy":
                arguments = [
                    f"scene:={SCENE}",
                    f"clock:={clock}",
                    f"policy:={write_tiny_bundle(self.folder / 'tiny')}",
                    "instruction:=left",
                ]
            if kind == "recorded":
                arguments += ["record:=true", f"recordings:={self.recordings.folder}"]
            self._running = RunningGraph(self.folder / f"graph-{self._count}.log", *arguments)
            self._kind = kind, clock
            self.witness = Witness(self._running.operator.node, PROFILE)
            # Latched when the graph before it was killed: the latch outlives it.
            known = (Mode.STANDBY, Mode.LATCHED)
            self._running.wait(lambda: self.graph.mode() in known and len(self.graph.states) > 10, "ready")
        return self._running

    def end(self) -> None:
        """Ends the graph, if one runs."""
        self.hold_still()
        if self._running is not None:
            with contextlib.suppress(Exception):  # whatever is left of a graph that was broken on purpose
                self._running.end()
            self._running = None

    def close(self) -> None:
        """Ends the graph and gives back what it was given."""
        self.end()
        self.disk.close()
        if "recordings" in vars(self):
            self.recordings.close()

    def set_in_motion(self) -> None:
        """Resets, arms and moves the robot; what came before is forgotten."""
        graph = self.use(*self._kind)
        graph.states[:] = graph.states[-100:]
        self.witness.forget()
        graph.wait(self._moves, "motion")

    def _moves(self) -> bool:
        """Arms and gives a task; overload may end the motion at once, which is right and not the point here."""
        graph = self.graph
        graph.arm()
        if self._kind[0] == "policy":
            self._side = "right" if self._side == "left" else "left"
            graph.operator.say(self._side)
        else:
            self.swing()
        return graph.operator.wait(lambda: bool(np.abs(graph.states[-1][2][:7]).max() > 0.05), 3.0)

    def swing(self) -> None:
        """Sends chunks that swing the arm between `HIGH_M` and `LOW_M` with constant speed, until `hold_still`."""
        self.hold_still()
        self._swinging = swinging = threading.Event()
        swinging.set()
        self._begin_ns, self._phase = self.graph.now_ns(), self.random.random() * 2 * SWING_S
        self._offset = self.graph.states[-1][1] - self._at(self._phase)

        def send() -> None:
            while swinging.is_set():
                stamp_ns = self.graph.now_ns()
                self.graph.chunks.publish(wire.chunk_bytes(self.chunk(stamp_ns), PROFILE.joint_names))
                time.sleep(SEND_S)

        threading.Thread(target=send, daemon=True).start()

    def chunk(self, stamp_ns: int) -> ActionChunk:
        """Returns the chunk of an observation: the swing, which starts where the robot was."""
        times_s = (stamp_ns + STEP_NS * np.arange(1, CHUNK_ROWS + 1) - self._begin_ns) * 1e-9
        rows = np.array([self._at(self._phase + t) + self._offset * max(0.0, 1.0 - t / BLEND_S) for t in times_s])
        if self.grip is not None:
            rows[:, FINGER] = self.grip
        return ActionChunk(actions=rows, start_ns=stamp_ns + STEP_NS, step_ns=STEP_NS, observation_stamp_ns=stamp_ns)

    def _at(self, time_s: float) -> Array:
        share = abs((time_s / SWING_S) % 2 - 1)
        return np.asarray(self._ends[0] * share + self._ends[1] * (1 - share))

    def hold_still(self) -> None:
        """Ends `swing`."""
        self._swinging.clear()

    def find(self) -> None:
        """Looks up the processes of the graph, so that `signal` loses no time."""
        found = {node: self.graph.pid(node) for node in NODES}
        self.pids = {node: pid for node, pid in found.items() if pid is not None}

    def signal(self, node: str, number: signal.Signals) -> None:
        """Signals a process as `find` found it."""
        os.kill(self.pids[node], number)

    def died(self, node: str) -> None:
        """Counts a death: a supervisor starts a node only so often, and `use` starts another graph before that."""
        self._deaths.setdefault(node, []).append(time.monotonic())

    def _worn_out(self) -> bool:
        since_s = time.monotonic() - RESPAWN_WINDOW_S
        return any(sum(death > since_s for death in deaths) >= RESPAWN_LIMIT for deaths in self._deaths.values())

    def record(self) -> None:
        """Begins an episode anew, on the disk as it is now."""
        with contextlib.suppress(StoppedError):
            self.graph.operator.trigger(topics.RECORD_DISCARD)
        self.graph.operator.trigger(topics.RECORD_START)

    def recorder_complains(self) -> bool:
        """Returns whether the recorder says that something is wrong."""
        status = self.graph.operator.reports.newest(RecorderStatus)
        return status is not None and status.level is Level.ERROR

    def wait_for_restart(self, node: str, old: int) -> None:
        """Waits until a killed node runs again and is heard of."""
        self.graph.wait(lambda: self.graph.pid(node) not in (None, old), f"the restart of {node}")

    def stand(self, patience_s: float = 5.0) -> bool:
        """Returns whether the robot comes to stand in time."""
        return self.graph.operator.wait(self.at_rest, patience_s)

    def at_rest(self) -> bool:
        """Returns whether a fresh joint state is at rest as the controller has it: contacts keep a joint trembling."""
        stamp_s, _, velocity = self.graph.states[-1]
        fresh = self.graph.now_ns() * 1e-9 - stamp_s < FRESH_S
        return fresh and not REST.moving(velocity).any()

    def stop(self) -> None:
        """Ends the motion by the stop service, if it answers."""
        self.hold_still()
        with contextlib.suppress(StoppedError):
            self.graph.operator.stop(1.0)
        self.stand()

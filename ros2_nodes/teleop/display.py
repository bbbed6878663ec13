"""Draws the panel of the teleoperation node, in a thread of its own."""

from __future__ import annotations

import os
import sys
import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.live import Live

from tendon.core.types import Array
from tendon.graph.domain import domain_id
from tendon.graph.running.display import short
from tendon.graph.running.state import RECORDER_NODE
from tendon.safety.latch import state_folder
from tendon.safety.reports import ControlState, MonitorState
from tendon.teleop.hand import Hand
from tendon.teleop.motion import ToolMotion
from tendon.teleop.panel import HandView, View, draw, keys_of

if TYPE_CHECKING:
    from tendon.ros2_nodes.teleop_node import TeleopNode

PERIOD_S = 0.1


class Display:
    """Draws on this terminal; what the process logs goes to a file meanwhile.

    Args:
        node: whose hands are shown.
    """

    def __init__(self, node: TeleopNode) -> None:
        self._node = node
        # The session's hands move in another thread, and kinematics have scratch memory: these are the panel's own.
        self._tools = {hand.group: ToolMotion(node.profile, hand.group) for hand in node.hands}
        self._keys = tuple(dict.fromkeys(line for hand in node.hands for line in keys_of(hand.axis_map)))
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="display", daemon=True)
        self._stderr = -1
        self._log = ""

    def start(self) -> None:
        """Begins."""
        folder = state_folder() / "log"
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"teleop-{time.strftime('%Y%m%dT%H%M%S')}-{os.getpid()}.log"
        self._log = f"log: {short(path)}"
        sys.stderr.flush()
        self._stderr = os.dup(2)
        with path.open("ab") as file:
            os.dup2(file.fileno(), 2)
        self._thread.start()

    def close(self) -> None:
        """Ends, and gives the error output back."""
        self._closing.set()
        if self._thread.is_alive():
            self._thread.join()
        if self._stderr >= 0:
            sys.stderr.flush()
            os.dup2(self._stderr, 2)
            os.close(self._stderr)
            self._stderr = -1

    def _run(self) -> None:
        console = Console()
        try:
            with Live(console=console, auto_refresh=False, transient=True) as live:
                while not self._closing.wait(PERIOD_S):
                    live.update(Group(*draw(self._view(), console.width)), refresh=True)
        except OSError:  # the terminal is gone: SIGHUP ends the node
            return

    def _view(self) -> View:
        node, reports = self._node, self._node.reports
        monitor, recorder = reports.newest(MonitorState), reports.status(RECORDER_NODE)
        silent_s = reports.age_s(ControlState.node)
        return View(
            title=f"tendon teleop · {node.profile.name} · domain {domain_id()}",
            hands=[self._hand(hand, node.measured) for hand in node.hands],
            control=reports.newest(ControlState),
            silent_s=0.0 if silent_s is None else silent_s,
            permission="" if monitor is None else monitor.permission.reason,
            recorder="" if recorder is None else recorder.text,
            keys=self._keys,
            log=self._log,
        )

    def _hand(self, hand: Hand, measured: Array | None) -> HandView:
        state = hand.state()
        if why := self._node.blocked():
            state = replace(state, held=False, waits=why)
        if measured is None:
            return HandView(state=state)
        tool = self._tools[hand.group]
        position, rotation = tool.pose(measured)
        return HandView(state=state, position=position, rotation=rotation, gripper=tool.fingers.share(measured))

"""One turn after the other of a blind session on the running graph."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from tendon.cli.keys import Keys
from tendon.cli.operator import wait_for_policy
from tendon.core.errors import StoppedError
from tendon.core.modes import Mode, PermissionState, Source
from tendon.evaluation.live.session import Session, Turn
from tendon.safety.reports import ControlState, MonitorState

if TYPE_CHECKING:
    from tendon.ros2_nodes.clients.operator import Operator

STOP = "stop"
"""Interrupts a task."""
KNOWN_S = 5.0
"""How long it may take until the graph has said how it is, and until the control node knows of a reset."""
HOME_S, REST_S = 60.0, 20.0
"""How long the way home, and coming to rest, may take."""
SAME_WAIT_S = 1.5
"""From home to the prompt, whether the policy changes or not, which nobody is to notice: it says so twice a second."""
GO, YES, NO, AGAIN, QUIT = " ", "y", "n", "r", "q"


class Turns:
    """Plays a session until it is over, or the operator ends it.

    Args:
        operator: of the graph.
        keys: of whoever looks on.
        session: whose turns.
        robot: its profile.
        limit_s: a turn that takes longer is over, and is judged then.
    """

    def __init__(self, operator: Operator, keys: Keys, session: Session, robot: str, limit_s: float) -> None:
        self._operator, self._keys, self._session = operator, keys, session
        self._robot, self._limit_s = robot, limit_s

    def play(self) -> bool:
        """Plays all that are left; returns whether none is. On Ctrl-C the robot is stopped first."""
        count = len(self._session.settings.turns())
        try:
            while (following := self._session.next) is not None:
                number, pair, side, task = following
                self._prepare(side)
                print(f"\nturn {number + 1} of {count}: {task}\nset the scene up; SPACE starts, q ends for today")
                self._keys.forget()
                if self._keys.one_of(GO + QUIT) == QUIT:
                    return False
                turn = self._turn(number, pair, side, task)
                if turn is None:
                    self._session.repeat(number)
                else:
                    self._session.take(turn)
        except BaseException:
            try:
                self._operator.stop()
            except StoppedError as error:  # said, but in place of what ended the turn it would hide that
                print(f"nobody was told to stop: {error}")
            raise
        return True

    def _prepare(self, side: str) -> None:
        """Brings the robot home, armed, with the policy whose turn it is. Nothing is said of which one that is."""
        self._rest()
        while not self._armed():
            print(f"the robot is not armed{self._why()}; SPACE resets and arms it")
            self._keys.forget()
            self._keys.one_of(GO)
            self._arm()
        if not self._operator.at_home():
            print("home ...")
            self._operator.home()
            if not self._operator.wait(self._operator.at_home, HOME_S):
                raise StoppedError(f"the robot did not get home within {HOME_S:.0f} s{self._why()}")
        policy, ready_s = self._session.settings.policy(side), time.monotonic() + SAME_WAIT_S
        self._operator.select(policy)
        status = wait_for_policy(
            self._operator,
            lambda status: status.policy == policy or (status.selected == policy and bool(status.selection_refusal)),
            "no policy node changed its policy",
        )
        if status.policy != policy:
            raise StoppedError(status.selection_refusal)
        time.sleep(max(0.0, ready_s - time.monotonic()))

    def _turn(self, number: int, pair: int, side: str, task: str) -> Turn | None:
        """Returns what came of a turn; `None` when the operator wants it again."""
        operator = self._operator
        operator.say(task)
        status = wait_for_policy(operator, lambda status: status.heard == task, "no policy node took the instruction")
        if status.refusal:
            raise StoppedError(status.refusal)
        begin_s = time.monotonic()
        print("y done, n failed, r again (does not count), x stops the robot")
        key, stop = "", ""
        self._keys.forget()
        while not key and not stop:
            pressed = self._keys.read(0.05)
            if pressed == "x":
                operator.stop()
            elif pressed and pressed in YES + NO + AGAIN:
                key = pressed
            stop = self._latch()
            if time.monotonic() - begin_s > self._limit_s:
                break
        duration_s = time.monotonic() - begin_s
        self._hold()
        if not key:
            print(f"stopped: {stop}" if stop else f"{self._limit_s:g} s are over")
            print("was it done? y yes, n no, r again")
            key = self._keys.one_of(YES + NO + AGAIN)
        if key == AGAIN:
            return None
        progress = 1.0
        if key == NO:
            print("how much of it was done? 0 nothing, 5 half, 9 nearly all")
            progress = int(self._keys.one_of("0123456789")) / 10
        print("noted")
        return Turn(
            number=number,
            seed=pair,
            side=side,
            family=task,
            instruction=task,
            success=key == YES,
            progress=progress,
            duration_s=round(duration_s, 2),
            stop=stop,
            robot=self._robot,
        )

    def _rest(self) -> None:
        self._hold()
        self._operator.wait(self._operator.at_rest, REST_S)

    def _hold(self) -> None:
        """Interrupts the policy, once, and waits until the robot obeys: a late stop would end the way home."""
        if self._holds():
            return
        self._operator.say(STOP)
        if not self._operator.wait(self._holds, REST_S):
            raise StoppedError(f"the policy was not interrupted within {REST_S:.0f} s{self._why()}")

    def _holds(self) -> bool:
        state = self._operator.reports.newest(ControlState)
        return state is not None and state.source is Source.HOLD

    def _arm(self) -> None:
        """Resets and arms; what refuses is printed, and asked for again."""
        try:
            self._operator.wait(self._known, KNOWN_S)
            if self._latch():
                self._operator.reset()
                self._operator.wait(self._standby, KNOWN_S)
            self._operator.arm()
        except StoppedError as error:
            print(error)
        deadline = time.monotonic() + 5.0
        while not self._armed() and time.monotonic() < deadline:
            time.sleep(0.02)

    def _known(self) -> bool:
        return self._operator.reports.newest(MonitorState) is not None and self._operator.mode() is not None

    def _standby(self) -> bool:
        return self._operator.mode() is Mode.STANDBY

    def _armed(self) -> bool:
        mode = self._operator.mode()
        return self._operator.permission() is PermissionState.ARMED and mode is not None and mode.moving

    def _latch(self) -> str:
        monitor = self._operator.reports.newest(MonitorState)
        latch = None if monitor is None else monitor.permission.latch
        return "" if latch is None else latch.text

    def _why(self) -> str:
        latch = self._latch()
        return f": {latch}" if latch else ""

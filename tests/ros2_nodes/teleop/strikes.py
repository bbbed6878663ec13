"""What can happen to who teleoperates: each strikes a robot in motion, and braking has to begin within 150 ms."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sensor_msgs.msg import JointState

from tendon.core.types import Array
from tendon.graph import topics
from tendon.graph.description import teleop_process
from tendon.ros2_nodes.base import qos
from tendon.teleop.hold import STUCK_NS
from tests.ros2_nodes.running_graph import RunningGraph
from tests.ros2_nodes.teleop.hands import LedArm, Wire, with_fifos
from tests.ros2_nodes.teleop.person import DELAY_S, ToolWatch, Typist
from tests.teleop import streams

BOUND_S = 0.15 + 1e-6
"""From the fault to the first braking."""
MOVING_M_S = 0.05
STILL_M_S = 1e-6
STEADY_S = 0.6
"""Of steady motion before something strikes."""
DOUBT_NS, TRIES = 15_000_000, 5
"""How much later than it knew this process may have typed a key: a tick, and what the clock's message takes."""


class Seat:
    """Somebody who teleoperates a running graph.

    Args:
        graph: armed, or not yet.
        watch: of its tool.
        folder: for FIFOs and logs.
    """

    def __init__(self, graph: RunningGraph, watch: ToolWatch, folder: Path) -> None:
        self.graph, self.watch = graph, watch
        self.pad, self.mouse, self.cable = (Wire(folder / name) for name in ("pad", "mouse", "arm"))

    @staticmethod
    def command_of(graph: RunningGraph, device: str) -> list[str]:
        """Returns the command of the node that leads a mock robot by a device."""
        simulated = "clock:=realtime" not in graph.arguments
        robot = graph.profile.name
        return teleop_process(robot=robot, backend="mock", simulated_time=simulated, devices=[device]).command

    @contextmanager
    def typist(self) -> Iterator[Typist]:
        """Sits down at the keyboard, and gets up in the end."""
        with Typist(self.command_of(self.graph, "keyboard"), clock_ns=self.graph.now_ns, delay_s=0.0) as typist:
            typist.await_panel()
            yield typist

    @contextmanager
    def _stand_in(self, device: str, wire: Wire, delay_s: float = DELAY_S) -> Iterator[Typist]:
        command = with_fifos(self.command_of(self.graph, device))
        wire.plug()
        with Typist(command, clock_ns=self.graph.now_ns, delay_s=delay_s) as typist:
            typist.await_panel()
            yield typist

    def gamepad(self) -> AbstractContextManager[Typist]:
        """Takes the gamepad, and puts it away in the end."""
        return self._stand_in(f"gamepad:{self.pad.path}", self.pad)

    def spacemouse(self) -> AbstractContextManager[Typist]:
        """Lays a hand on the SpaceMouse, and takes it away in the end."""
        return self._stand_in(f"spacemouse:{self.mouse.path}", self.mouse)

    @contextmanager
    def leader(self) -> Iterator[tuple[Typist, LedArm]]:
        """Takes a leader arm in one hand, whose joint states come by ROS, and the keyboard in the other."""
        names, node = list(self.graph.profile.joint_names), self.graph.operator.node
        states = node.create_publisher(JointState, f"/leader/{topics.JOINT_STATES}", qos.STREAM)

        def say(position: Array) -> None:
            states.publish(JointState(name=names, position=position.tolist()))

        command = self.command_of(self.graph, f"leader:{self.graph.profile.name}@/leader+keyboard")
        try:
            with (
                LedArm(say, self.graph.profile.vector("home"), self.graph.now_ns) as arm,
                Typist(command, clock_ns=self.graph.now_ns, delay_s=0.0) as typist,
            ):
                typist.await_panel()
                yield typist, arm
        finally:
            node.destroy_publisher(states)

    @contextmanager
    def lerobot(self) -> Iterator[tuple[Typist, LedArm]]:
        """Takes an arm that a LeRobot `Teleoperator` reads in one hand, and the keyboard in the other."""
        profile = self.graph.profile
        names = [f"{profile.joint_names[column]}.pos" for column in profile.group_indices("arm")]

        def say(position: Array) -> None:
            degrees = np.degrees(position[: len(names)]).tolist()
            self.cable.write(f"{json.dumps(dict(zip(names, degrees, strict=True)))}\n".encode())

        with (
            LedArm(say, profile.vector("home"), self.graph.now_ns) as arm,
            self._stand_in(f"lerobot:{self.cable.path}+keyboard", self.cable, delay_s=0.0) as typist,
        ):
            yield typist, arm

    def frame(self, *events: tuple[int, int, int]) -> None:
        """Lets the gamepad say something."""
        self.pad.write(streams.event_bytes(events, 0))

    def reports(self, *reports: bytes) -> None:
        """Lets the SpaceMouse say something."""
        self.mouse.write("".join(f"{report.hex()}\n" for report in reports).encode())

    def inwards(self) -> int:
        """Returns the sign of y towards the middle, from where the tool is."""
        return 1 if not self.watch.samples or self.watch.position()[1] < 0 else -1

    def in_motion(self, what: str = "motion", patience_s: float = 20.0) -> None:
        """Waits until the tool goes steadily: on a busy machine a key may not repeat in time, and lets go."""
        for _ in range(5):
            self.graph.wait(lambda: self.watch.speed() > MOVING_M_S, what, patience_s)
            self.graph.pause(STEADY_S)
            if self.watch.slowest(self.graph.now_ns() - round(0.5 * STEADY_S * 1e9)) > MOVING_M_S:
                return
        raise AssertionError("it does not go steadily")

    def at_rest(self) -> None:
        """Waits until the tool is still."""
        self.graph.wait(lambda: self.watch.speed() < STILL_M_S, "rest", 20.0)

    def braking_s(self, since_ns: int) -> float:
        """Waits for rest and returns when it began to brake."""
        self.at_rest()
        found = self.watch.braking_s(since_ns)
        assert found is not None, "it did not brake"
        return found

    def stays_at_rest(self, pause_s: float = 0.4) -> None:
        """Nothing moves for a while."""
        before = self.watch.position()
        self.graph.pause(pause_s)
        moved_m = float(abs(self.watch.position() - before).max())
        assert moved_m < 1e-6, f"it moved by {1e3 * moved_m:.2f} mm again by itself"


@dataclass(frozen=True, kw_only=True)
class Strike:
    """One way to lose a hand.

    Attributes:
        name: for a table.
        run: makes the robot move, strikes, and returns after how long it began to brake [s, time of the graph].
        slow: it takes long.
    """

    name: str
    run: Callable[[Seat], float]
    slow: bool = False


def _press(seat: Seat, press: Callable[[], None], release: Callable[[], None]) -> None:
    """Presses until the robot moves.

    On a busy machine a key is let go between repeats, and the first press of a session comes before the robot was
    handed over: a person then releases, and presses again.
    """
    for last in (False, False, False, True):
        press()
        try:
            seat.in_motion(patience_s=5.0)
            return
        except AssertionError:
            if last:
                raise
        release()
        time.sleep(0.5)


def _hold(seat: Seat, typist: Typist, key: str = "") -> None:
    """Holds a key, by default one that leads back to the middle."""
    _press(seat, lambda: typist.hold(key or ("a" if seat.inwards() > 0 else "d")), typist.release)


def _push(seat: Seat) -> None:
    """Holds the gamepad's deadman, and pushes its stick back to the middle."""
    _press(
        seat,
        lambda: seat.frame(
            (streams.EV_KEY, streams.BTN_TL, 1), (streams.EV_ABS, streams.ABS_X, -32767 * seat.inwards())
        ),
        lambda: seat.frame((streams.EV_KEY, streams.BTN_TL, 0), (streams.EV_ABS, streams.ABS_X, 0)),
    )


def _moves_again(seat: Seat, typist: Typist) -> None:
    _hold(seat, typist)
    typist.release()
    seat.at_rest()


def _released(seat: Seat) -> float:
    with seat.typist() as typist:
        for _ in range(TRIES):
            _hold(seat, typist)
            typist.release()
            found = seat.braking_s(typist.typed_ns)
            seat.stays_at_rest()
            if typist.doubt_ns <= DOUBT_NS:  # else when the last key came is not known
                break
        _moves_again(seat, typist)
    return found


def _killed(seat: Seat) -> float:
    with seat.typist() as typist:
        _hold(seat, typist)
        struck_ns = seat.graph.now_ns()
        typist.signal(signal.SIGKILL)
        found = seat.braking_s(struck_ns)
        seat.stays_at_rest()
    return found


def _frozen(seat: Seat) -> float:
    """SIGSTOP, and with the key still held SIGCONT: nothing moves until it was released and pressed again."""
    with seat.typist() as typist:
        _hold(seat, typist)
        struck_ns = seat.graph.now_ns()
        typist.signal(signal.SIGSTOP)
        found = seat.braking_s(struck_ns)
        typist.signal(signal.SIGCONT)
        seat.stays_at_rest(0.6)
        typist.release()
        seat.graph.pause(0.5)
        time.sleep(0.5)  # keys are real time
        _moves_again(seat, typist)
    return found


def _terminal_closed(seat: Seat) -> float:
    with seat.typist() as typist:
        _hold(seat, typist)
        struck_ns = seat.graph.now_ns()
        typist.close_terminal()
        found = seat.braking_s(struck_ns)
        seat.stays_at_rest()
    return found


def _stuck(seat: Seat) -> float:
    """A key that never changes is let go of after 10 s; it counts again after a release."""
    with seat.typist() as typist:
        for _ in range(2):
            typist.tap("-")
            time.sleep(0.3)
        key = "a" if seat.inwards() > 0 else "d"
        before_ns = typist.typed_ns
        typist.hold(key)
        seat.graph.wait(lambda: typist.typed_ns > before_ns, "a press", 5.0)
        pressed_ns = typist.typed_ns
        seat.graph.wait(lambda: seat.watch.speed() > STILL_M_S, "motion", 20.0)
        seat.graph.pause(STUCK_NS * 1e-9 - 1.0)
        seat.graph.wait(lambda: "held without a change" in typist.screen, "being asked", 20.0)
        found = seat.braking_s(pressed_ns + STUCK_NS)
        seat.stays_at_rest()
        typist.release()
        time.sleep(0.5)
        typist.hold("d" if key == "a" else "a")
        seat.graph.wait(lambda: seat.watch.speed() > STILL_M_S, "motion", 20.0)
        typist.release()
        seat.at_rest()
    return found


def _unplugged(seat: Seat) -> float:
    with seat.gamepad():
        _push(seat)
        struck_ns = seat.graph.now_ns()
        seat.pad.unplug()
        found = seat.braking_s(struck_ns)
        seat.stays_at_rest()
    return found


def _pedal_up(seat: Seat) -> float:
    """The deadman of a gamepad is released while its stick is still pushed."""
    with seat.gamepad():
        _push(seat)
        struck_ns = seat.graph.now_ns()
        seat.frame((streams.EV_KEY, streams.BTN_TL, 0))
        found = seat.braking_s(struck_ns)
        seat.stays_at_rest()
        seat.frame((streams.EV_ABS, streams.ABS_X, 0))
    return found


@contextmanager
def _by_mouse(seat: Seat) -> Iterator[None]:
    def press() -> None:
        seat.reports(streams.buttons_report(1), streams.axes_report(1, -streams.FULL * seat.inwards(), 0, 0))

    def release() -> None:
        seat.reports(streams.axes_report(1, 0, 0, 0), streams.buttons_report(0))

    with seat.spacemouse():
        _press(seat, press, release)
        yield
        seat.stays_at_rest()
        seat.mouse.plug()
        release()


def _cap_let_go(seat: Seat) -> float:
    """The left button of a SpaceMouse is released while its cap is still pushed."""
    with _by_mouse(seat):
        struck_ns = seat.graph.now_ns()
        seat.reports(streams.buttons_report(0))
        return seat.braking_s(struck_ns)


def _mouse_unplugged(seat: Seat) -> float:
    with _by_mouse(seat):
        struck_ns = seat.graph.now_ns()
        seat.mouse.unplug()
        return seat.braking_s(struck_ns)


def _led(seat: Seat, typist: Typist, arm: LedArm) -> None:
    arm.go(0.3 * seat.inwards())
    _hold(seat, typist, " ")


def _leader_let_go(seat: Seat) -> float:
    """The key beside a leader arm is released while the arm is led on."""
    with seat.leader() as (typist, arm):
        _led(seat, typist, arm)
        typist.release()
        found = seat.braking_s(typist.typed_ns)
        seat.stays_at_rest()
    return found


def _comes_back(seat: Seat, typist: Typist, arm: LedArm, lose: Callable[[], None], find: Callable[[], None]) -> float:
    """The arm is lost while it is led on, and found with the key held: nothing moves until that is pressed again."""
    _led(seat, typist, arm)
    struck_ns = seat.graph.now_ns()
    lose()
    found = seat.braking_s(struck_ns)
    find()
    seat.graph.pause(1.5)  # it is looked for once a second
    seat.stays_at_rest()
    typist.release()
    time.sleep(0.5)
    _led(seat, typist, arm)
    typist.release()
    seat.at_rest()
    return found


def _leader_silent(seat: Seat) -> float:
    with seat.leader() as (typist, arm):
        return _comes_back(seat, typist, arm, arm.silent.set, arm.silent.clear)


def _lerobot_lost(seat: Seat) -> float:
    with seat.lerobot() as (typist, arm):
        return _comes_back(seat, typist, arm, seat.cable.unplug, seat.cable.plug)


STRIKES = (
    Strike(name="key released", run=_released),
    Strike(name="teleop_node killed (-9)", run=_killed),
    Strike(name="teleop_node frozen (-STOP), and on with the key held", run=_frozen),
    Strike(name="terminal closed", run=_terminal_closed),
    Strike(name="key stuck: 10 s without a change", run=_stuck, slow=True),
    Strike(name="gamepad's deadman released", run=_pedal_up),
    Strike(name="gamepad unplugged", run=_unplugged),
    Strike(name="SpaceMouse's deadman released", run=_cap_let_go),
    Strike(name="SpaceMouse unplugged", run=_mouse_unplugged),
    Strike(name="deadman beside a leader arm released", run=_leader_let_go),
    Strike(name="leader arm silent, and on with the key held", run=_leader_silent),
    Strike(name="LeRobot arm lost, and on with the key held", run=_lerobot_lost),
)

"""What can happen to who teleoperates: each strikes a robot in motion, and braking has to begin within 150 ms."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tendon.graph.description import teleop_process
from tendon.teleop.hold import STUCK_NS
from tests.ros2_nodes.running_graph import RunningGraph
from tests.ros2_nodes.teleop.person import ToolWatch, Typist
from tests.teleop import streams

BOUND_S = 0.15 + 1e-6
"""From the fault to the first braking."""
MOVING_M_S = 0.05
STILL_M_S = 1e-6
STEADY_S = 0.6
"""Of steady motion before something strikes."""
FIRST_S = 2.0


class Seat:
    """Somebody who teleoperates a running graph.

    Args:
        graph: armed, or not yet.
        watch: of its tool.
        folder: for FIFOs and logs.
    """

    def __init__(self, graph: RunningGraph, watch: ToolWatch, folder: Path) -> None:
        self.graph, self.watch, self._folder = graph, watch, folder
        self.fifo = folder / "pad"
        if not self.fifo.exists():
            os.mkfifo(self.fifo)
        self.pad = os.open(self.fifo, os.O_RDWR | os.O_NONBLOCK)

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
    def gamepad(self) -> Iterator[Typist]:
        """Takes the gamepad, and puts it away in the end."""
        interpreter, *rest = self.command_of(self.graph, f"gamepad:{self.fifo}")
        script = str(Path(__file__).with_name("teleop_node.py"))
        self._plug(True)
        with Typist([interpreter, script, *rest[2:]], clock_ns=self.graph.now_ns) as typist:
            typist.await_panel()
            yield typist

    def frame(self, *events: tuple[int, int, int]) -> None:
        """Lets the gamepad say something."""
        os.write(self.pad, streams.event_bytes(events, 0))

    def _plug(self, there: bool) -> None:
        place = Path(f"{self.fifo}.unplugged")
        place.unlink(missing_ok=True) if there else place.touch()

    def unplug(self) -> None:
        """Pulls the gamepad's plug."""
        self._plug(False)

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


def _hold(seat: Seat, typist: Typist) -> None:
    """Holds a key that leads back to the middle; on a busy machine it is let go between repeats, and pressed again."""
    for last in (False, False, False, True):
        typist.hold("a" if not seat.watch.samples or seat.watch.position()[1] < 0 else "d")
        try:
            seat.in_motion(patience_s=5.0)
            return
        except AssertionError:
            if last:
                raise
        typist.release()
        time.sleep(0.5)


def _moves_again(seat: Seat, typist: Typist) -> None:
    _hold(seat, typist)
    typist.release()
    seat.at_rest()


def _released(seat: Seat) -> float:
    with seat.typist() as typist:
        _hold(seat, typist)
        typist.release()
        found = seat.braking_s(typist.typed_ns)
        seat.stays_at_rest()
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
        key = "a" if not seat.watch.samples or seat.watch.position()[1] < 0 else "d"
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
        sign = 1 if not seat.watch.samples or seat.watch.position()[1] > 0 else -1
        seat.frame((streams.EV_KEY, streams.BTN_TL, 1), (streams.EV_ABS, streams.ABS_X, 32767 * sign))
        seat.in_motion()
        struck_ns = seat.graph.now_ns()
        seat.unplug()
        found = seat.braking_s(struck_ns)
        seat.stays_at_rest()
    return found


def _pedal_up(seat: Seat) -> float:
    """The deadman of a gamepad is released while its stick is still pushed."""
    with seat.gamepad():
        sign = 1 if not seat.watch.samples or seat.watch.position()[1] > 0 else -1
        seat.frame((streams.EV_KEY, streams.BTN_TL, 1), (streams.EV_ABS, streams.ABS_X, 32767 * sign))
        seat.in_motion()
        struck_ns = seat.graph.now_ns()
        seat.frame((streams.EV_KEY, streams.BTN_TL, 0))
        found = seat.braking_s(struck_ns)
        seat.stays_at_rest()
        seat.frame((streams.EV_ABS, streams.ABS_X, 0))
    return found


STRIKES = (
    Strike(name="key released", run=_released),
    Strike(name="teleop_node killed (-9)", run=_killed),
    Strike(name="teleop_node frozen (-STOP), and on with the key held", run=_frozen),
    Strike(name="terminal closed", run=_terminal_closed),
    Strike(name="key stuck: 10 s without a change", run=_stuck, slow=True),
    Strike(name="gamepad's deadman released", run=_pedal_up),
    Strike(name="gamepad unplugged", run=_unplugged),
)

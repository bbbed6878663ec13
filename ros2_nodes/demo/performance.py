"""One performance of the demo: the graph's processes, the director and the display, each in its thread."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType
from typing import IO

from tendon.core.errors import StoppedError, TendonError
from tendon.demo.recording import Recording
from tendon.demo.status import Status
from tendon.demo.story import Step
from tendon.graph.description import Graph
from tendon.graph.running.ending import on_end_request
from tendon.graph.running.process_group import ProcessGroup
from tendon.robots.profile import RobotProfile
from tendon.ros2_nodes.clients.operator import Operator
from tendon.ros2_nodes.demo.director import DemoDirector

REFRESH_S = 0.2
REST_S = 5.0


@dataclass(frozen=True, kw_only=True)
class Performance:
    """What came of it.

    Attributes:
        problem: why it did not come to its end; empty when it did, whether tasks were done or not.
        interrupted: it was ended by a signal.
        recording: what was seen; `None` when the robot was never armed.
    """

    problem: str
    interrupted: bool
    recording: Recording | None


def perform(
    graph: Graph,
    profile: RobotProfile,
    story: tuple[Step, ...],
    limit_s: float,
    log: IO[str],
    show: Callable[[Status], None],
) -> Performance:
    """Starts the graph, runs the story, stops the robot, and ends the graph. Main thread only: it takes signals.

    SIGINT, SIGTERM and SIGHUP end it early; the robot is stopped before anything else then, too.

    Args:
        graph: what to start.
        profile: the robot.
        story: what to ask for.
        limit_s: longest time for one instruction.
        log: takes what the processes print.
        show: called a few times a second.
    """
    operator = Operator("demo", simulated_time=graph.simulated_time)
    director = DemoDirector(operator, profile, story, limit_s)

    def stop_robot() -> bool:
        try:
            operator.stop()
        except StoppedError:
            return False
        return operator.wait(operator.at_rest, REST_S)

    group = ProcessGroup(graph, stop_robot, output=log)
    interrupts: list[int] = []
    problems: list[str] = []

    def run_graph() -> None:
        if group.run():
            problems.insert(0, "a process of the graph has died")
        director.cancel()

    def run_story() -> None:
        try:
            director.perform()
        except TendonError as error:
            problems.append(str(error))
        finally:
            group.request_end()

    def interrupt(number: int, _frame: FrameType | None) -> None:
        interrupts.append(number)
        group.request_end()

    before = on_end_request(interrupt)
    # The children's parent, for the kernel, is the thread that starts them; it must live as long as they shall.
    threads = [threading.Thread(target=run_graph, name="graph"), threading.Thread(target=run_story, name="story")]
    try:
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            show(director.status())
            threads[0].join(REFRESH_S)
        show(director.status())
        recording = director.recording() if director.armed_ns is not None else None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        director.close()
        operator.close()
    return Performance(
        problem="it was interrupted" if interrupts else next(iter(problems), ""),
        interrupted=bool(interrupts),
        recording=recording,
    )

"""Those beside the graph that are sent poison: who looks on and asks, and who keeps what a demo's graph says."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import cycle
from typing import Any

from tendon.core.errors import StoppedError
from tendon.core.modes import Mode
from tendon.graph import topics
from tendon.robots.profile import RobotProfile
from tendon.ros2_nodes import wire
from tendon.safety.reports import ControlState
from tests.poison import messages
from tests.poison.answering import WAYS, Played
from tests.poison.fuzzing import Endpoint
from tests.poison.subjects import Subject, wire_bytes


class _Counting:
    """A live view that draws nothing."""

    def __init__(self) -> None:
        self.shown = 0

    def _show(self, *_: Any) -> None:
        self.shown += 1

    joints = plan = image = state = _show


class ClientSubject(Subject):
    """Who looks on and asks: operator, reports, live view, survey, calibration, what tests watch and fake."""

    def __init__(self, profile: RobotProfile) -> None:
        from tendon.graph.expectations import expected_topics
        from tendon.ros2_nodes.clients.frozen_cameras import FrozenCameras
        from tendon.ros2_nodes.clients.guided_robot import WatchedRobot
        from tendon.ros2_nodes.clients.live_feed import LiveFeed
        from tendon.ros2_nodes.clients.operator import Operator
        from tendon.ros2_nodes.clients.replaying_robot import ReplayingRobot
        from tendon.ros2_nodes.clients.surveyor import Surveyor
        from tendon.ros2_nodes.clients.witness import Witness

        self.operator = Operator("fuzzed", simulated_time=True)
        self.scene = _Counting()
        LiveFeed(self.operator, profile, self.scene)  # type: ignore[arg-type]
        self.operator.at_rest()
        surveyor = Surveyor(self.operator)
        self._watches = [surveyor._watch(each) for each in expected_topics(profile, ("sim_node", "control_node"))][:1]
        self._watches.append(surveyor._watch_clock())
        self._surveyor = surveyor
        self._witness = Witness(self.operator.node, profile)
        FrozenCameras(self.operator, profile)
        WatchedRobot(self.operator, profile, [camera.name for camera in profile.cameras])
        ReplayingRobot(self.operator, profile)
        super().__init__(self.operator.node, profile)

    def answers(self) -> list[Endpoint]:
        """Asks each service that it asks only now and then once, so that it is among them."""
        operator = self.operator
        self._calls = {name: partial(operator.trigger, name) for name in (*operator._calls, "recorder/keep")}
        self._calls |= {
            topics.OUTCOME: partial(operator.outcome, True),
            "sim_node/set_parameters": partial(operator.set_parameter, "sim_node", "noise", 0.0),
            "policy_node/get_parameter_types": partial(operator.steer, "speed", 1.0),
        }
        for call in self._calls.values():
            call()
        self._calls["policy_node/set_parameters"] = self._calls["policy_node/get_parameter_types"]
        return super().answers()

    def asking(self, played: Played) -> Callable[[Any], None]:
        """Calls it, and lets the caller be refused."""
        call, ways = self._calls[played.client.service], cycle(WAYS)

        def take(answer: Any) -> None:
            played.plan(answer, next(ways))
            with suppress(StoppedError):
                call()
            played.forget()

        return take

    def now_ns(self) -> int:
        """Returns wall time."""
        return time.time_ns()

    def work(self) -> None:
        """Somebody looks at what was said; a survey lasts 2 s."""
        self._surveyor._messages.clear()
        self._surveyor._clock.clear()
        self._witness.forget()
        self.operator.reports.state(("control_node", "safety_monitor", "policy_node"))

    def works(self) -> str:
        """It knows what was said last."""
        shown, now_ns = self.scene.shown, self.now_ns()
        for kind in (ControlState(mode=Mode.RUNNING, event=1), messages.states(now_ns)[-2]):
            self.give(wire.STATE.name, wire.STATE.encode(kind, now_ns))
        self.give(topics.JOINT_STATES, messages.joint_state(self.profile, now_ns + 10**9))
        if self.operator.mode() is not Mode.RUNNING:
            return f"mode is {self.operator.mode()}"
        return "" if self.scene.shown > shown and self.operator.at_rest() else "nothing is shown"

    def close(self) -> None:
        """Leaves the graph."""
        self.operator.close()


class RecorderSubject(Subject):
    """Who keeps what a demo's graph says; it takes bytes without an executor."""

    def __init__(self, profile: RobotProfile) -> None:
        from tendon.ros2_nodes.clients.recorder import Recorder

        self.recorder = Recorder(profile)
        super().__init__(self.recorder._node, profile)

    def endpoints(self) -> list[Endpoint]:
        """Returns what it keeps."""
        return [
            replace(endpoint, raw=True, take=partial(self.recorder._keep, endpoint.topic, self.now_ns()))
            for endpoint in super().endpoints()
            if endpoint.topic in self.recorder._samples  # nothing answers its services
        ]

    def now_ns(self) -> int:
        """Returns wall time."""
        return time.time_ns()

    def work(self) -> None:
        """What was kept becomes a recording, and is forgotten."""
        self.recorder.recording([], 0, 2**62)
        for samples in self.recorder._samples.values():
            samples.clear()
        self.recorder._bytes = 0

    def works(self) -> str:
        """What was said last is known, and what was measured is in the recording."""
        now_ns = self.now_ns()
        self.recorder._keep(topics.JOINT_STATES, now_ns, wire_bytes(messages.joint_state(self.profile, now_ns)))
        recording = self.recorder.recording([], now_ns - 1, now_ns + 1)
        return "" if len(recording.measured.stamp_ns) == 1 else "a joint state was not recorded"

    def close(self) -> None:
        """Leaves the graph."""
        self.recorder.close()

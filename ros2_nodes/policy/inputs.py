"""Camera frames and joint states as they arrive, until they make one observation.

What the safety monitor judges cameras by is said from here: it must keep time, so no frame goes there. What a recorder
wants to know of an observation, too, while there is one: from what it was made, and its digest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from sensor_msgs.msg import Image as ImageMessage
from sensor_msgs.msg import JointState
from std_msgs.msg import Header

from tendon.core.errors import TendonError
from tendon.core.types import Observation
from tendon.graph import topics
from tendon.observation.assembly import digest
from tendon.observation.feed import ObservationFeed
from tendon.robots.safety_settings import nanoseconds
from tendon.ros2_nodes import wire
from tendon.ros2_nodes.base import qos
from tendon.ros2_nodes.base.shell import NodeShell
from tendon.safety.camera_watch import Frame

REASON_NS = 1_000_000_000
"""How long a reason stands in the diagnostics before the next one, which may differ by a few ms, takes its place."""


class ObservationInputs:
    """Subscribes to cameras and `joint_states`; publishes what each frame, and each observation, was like.

    Args:
        node: which node subscribes.
        cameras: names of those that an observation needs.
        arrived: called when a message was taken or refused; there may be a new observation.
    """

    def __init__(self, node: NodeShell, cameras: Sequence[str], arrived: Callable[[], None]) -> None:
        self._node, self._time, self._notify = node, node.time, arrived
        settings = node.profile.safety
        missed, self._joints_ns = settings.camera_missed_periods, nanoseconds(settings.joint_state_silence_s)
        self._cameras_ns = {name: nanoseconds(missed / node.profile.camera(name).rate_hz) for name in cameras}
        self._arrived_ns: dict[str, int] = {}
        self._refused: dict[str, tuple[str, int]] = {}
        self._feed = ObservationFeed(node.profile, tuple(self._cameras_ns), self._time.simulated)
        self._camera_meters = {name: node.meter(f"camera {name}") for name in self._cameras_ns}
        self._meter = node.meter("observation")
        self._frames = node.create_publisher(Header, topics.FRAMES, qos.EACH)
        self._given = node.create_publisher(Header, topics.GIVEN, qos.EACH)
        for name in self._cameras_ns:
            node.create_subscription(ImageMessage, topics.image(name), partial(self._image, name), qos.STREAM)
        node.create_subscription(JointState, topics.JOINT_STATES, self._joints, qos.STREAM)

    def observation(self, instruction: str) -> Observation | None:
        """Returns the newest complete observation not returned before, or `None` while there is none."""
        observation = self._feed.observation(instruction)
        if observation is not None:
            self._meter.add(self._time.now_ns() - observation.stamp_ns)
            if self._given.get_subscription_count() and (sources := self._feed.sources) is not None:
                self._given.publish(wire.given_message(sources, digest(observation)))
        return observation

    def problem(self) -> str:
        """Returns why there is no observation; empty while there are."""
        now_ns = self._time.now_ns()
        for name, most_ns in self._cameras_ns.items():
            if silent := self._silent(name, most_ns, now_ns):
                return f"camera {name}: {silent}; no inference without it"
        if silent := self._silent(topics.JOINT_STATES, self._joints_ns, now_ns):
            return f"joint_states: {silent}; no inference without them"
        return self._feed.problem()

    def _silent(self, source: str, most_ns: int, now_ns: int) -> str:
        since = "yet"
        if source in self._arrived_ns:
            if now_ns - self._arrived_ns[source] <= most_ns:
                return ""
            since = f"for {most_ns / 1e6:.0f} ms"
        if source in self._refused:
            return f"nothing of use has arrived {since}: {self._refused[source][0]}"
        return f"nothing has arrived {since}"

    def _take(self, source: str, stamp_ns: int, add: Callable[[], None]) -> None:
        """Adds to the buffer what came from a source; what is refused does not count as arrived."""
        try:
            add()
        except TendonError as error:
            now_ns = self._time.now_ns()
            if now_ns >= self._refused.get(source, ("", 0))[1]:
                self._refused[source] = str(error), now_ns + REASON_NS
            self._meter.drop()
            self._node.complain(source, str(error))
        else:
            self._refused.pop(source, None)
            self._arrived_ns[source] = self._time.now_ns()
            if source in self._camera_meters:
                self._camera_meters[source].add(self._time.now_ns() - stamp_ns)
        self._notify()

    def _image(self, name: str, message: ImageMessage) -> None:
        if not self._time.now_ns():
            return  # no /clock yet
        stamp_ns = wire.time_ns(message.header.stamp)
        self._take(name, stamp_ns, lambda: self._feed.add_image(name, message, self._time.now_ns()))
        frame = Frame.of(stamp_ns, memoryview(message.data))
        self._frames.publish(wire.frame_message(name, frame))

    def _joints(self, message: JointState) -> None:
        if not self._time.now_ns():
            return
        stamp_ns = wire.time_ns(message.header.stamp)
        self._take(topics.JOINT_STATES, stamp_ns, lambda: self._feed.add_joints(message, self._time.now_ns()))

"""Why a robot is stopped, slowed, held or not ready: a code that programs compare, and words for people."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from tendon.core.phrases import TEXTS, beginning


class Cause(Enum):
    """What somebody has to look at next; one member for each answer. Words may change, these do not."""

    REQUESTED = "requested"
    """Somebody asked for the stop, or ended the graph. There is nothing to look for."""
    TRACKING = "tracking"
    """The robot does not do what it is commanded. Something is in its way, holds it or has hit it."""
    EFFORT = "effort"
    """A joint bears more than its profile allows. Something was touched, or what the robot carries is too heavy."""
    LIMITS = "limits"
    """A joint is measured beyond its limits. Move it back by hand, or correct its zero or the profile."""
    STALE_JOINTS = "stale_joints"
    """Joint states are missing or too old. See whether the robot's driver runs."""
    BAD_JOINTS = "bad_joints"
    """Joint states lack a joint, cannot be read or never change. See what the robot's driver sends."""
    HEARTBEAT = "heartbeat"
    """A node is silent. See whether it runs, and whether the machine is too busy."""
    RESTARTED = "restarted"
    """A node ended and was started again. See in its log why it ended."""
    CONTROLLER = "controller"
    """The control node does not do what it was permitted to. Its own reason says why."""
    SENDER = "sender"
    """Two nodes send what only one may. End the other one."""
    LAW = "law"
    """A command that was sent breaks a law of motion. Report it: the filter must not let it pass."""
    CHUNKS = "chunks"
    """Action chunks are invalid. See what the policy, or who teleoperates, sends."""
    LATENCY = "latency"
    """Observations are too old when they lead to motion. The policy, or the way to it, is too slow."""
    CAMERA = "camera"
    """A camera that the policy uses is silent, frozen, black or flat. See to the camera."""
    NODE_REQUEST = "node_request"
    """A node asked for it on `safety/state`, such as the failure detector. See what it saw."""
    STOP_INPUT = "stop_input"
    """An input from outside, such as an emergency stop or an enabling device, says so, or is silent. See to it."""
    LATE = "late"
    """The control loop or its commands are late. The machine is too busy."""
    STANDSTILL = "standstill"
    """The machine, or simulated time, stood still. See what pauses it: sleep, a debugger, a virtual machine."""
    CLOCK = "clock"
    """The clock jumped. See what sets it, or who else publishes `/clock`."""
    LATCH_FILE = "latch_file"
    """What an earlier monitor left cannot be read. Look at the robot and at the file."""


@dataclass(frozen=True, slots=True)
class Reason:
    """A cause, and the same in words with names and numbers: the beginning of a text that is too long to be read.

    A reason is kept, compared, said and logged many times a second, and parts of it may come from anybody's message.
    """

    cause: Cause
    text: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", beginning(self.text))


def texts_of(reasons: Iterable[Reason]) -> str:
    """Returns reasons in words, in one line that can be read."""
    return beginning("; ".join(reason.text for reason in reasons), TEXTS)

"""Names of topics and services, relative to the graph's namespace; docs/reference/topics.md says what is on them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tendon.core.modes import Source

if TYPE_CHECKING:  # the command line needs names, and `tendon --help` no numpy
    from tendon.robots.profile import ControllerSpec

JOINT_STATES = "joint_states"

INSTRUCTION = "instruction"
FOLLOWED_INSTRUCTION = "policy/instruction"
SELECT = "policy/select"
FRAMES = "policy/frames"
GIVEN = "policy/observation"

FEATURES = "policy/features"

CONTROL_SOURCE = "control/source"
HOME = "control/home"
RESIDUAL = "control/residual"
OUTCOME = "control/outcome"

FILTER_INPUT = "safety/filter_input"
PERMISSION = "safety/permission"
STATE = "safety/state"
STOP, RESET, ARM = "safety/stop", "safety/reset", "safety/arm"

HEARTBEAT = "heartbeat"
DIAGNOSTICS = "diagnostics"

CLOCK = "/clock"
DONE = "sim/done"
WORLD_STATE = "sim/world_state"
COMMANDED = "sim/commanded"
TASK = "sim/task"

RECORD_START, RECORD_KEEP, RECORD_DISCARD = "recorder/start", "recorder/keep", "recorder/discard"
RECORD_SUCCESS, RECORD_FAILURE, RECORD_NOTE = "recorder/success", "recorder/failure", "recorder/note"


def action_chunk(source: Source) -> str:
    """Returns where a source sends its chunks."""
    return f"{source.value}/action_chunk"


def image(camera: str) -> str:
    """Returns where frames of a camera come."""
    return f"camera/{camera}/image_raw"


def camera_info(camera: str) -> str:
    """Returns where a camera is described."""
    return f"camera/{camera}/camera_info"


def commands(controller: ControllerSpec) -> str:
    """Returns where a controller takes commands."""
    return f"{controller.name}/{'joint_trajectory' if controller.type == 'joint_trajectory' else 'commands'}"

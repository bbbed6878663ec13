"""The ROS parameters of every node: what they mean, who has them, and which may be set while the node runs."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tendon.core.checks import closest
from tendon.core.errors import ConfigError
from tendon.graph.arguments import ARGUMENTS
from tendon.graph.params_file import ALL, Value, read_params_file
from tendon.graph.running.state import RECORDER_NODE, STAND_INS

SIMULATED, MOCKED = STAND_INS.items()
TIMEKEEPING = tuple(STAND_INS)
JUDGING = ("safety_monitor", "control_node")
NODES = (*SIMULATED, *JUDGING, "policy_node")
"""Those of the simulated graph."""
TELEOPERATING = "teleop_node"
EVERY = (*NODES, *MOCKED, TELEOPERATING, RECORDER_NODE)
RESIDUAL_AUTHORITY = "residual_authority"
REAL = ("lag_s", "noise", "effort", RESIDUAL_AUTHORITY)
"""Parameters that are real numbers, which a YAML file may write without a point."""
STEERED = "steer."
"""What parameters that steer a policy are called, before the name that its bundle.yaml gives."""


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """One parameter.

    Attributes:
        name: of it.
        nodes: that have it.
        description: what `ros2 param describe` says.
        tunable: it may be set while the node runs; the others are read-only.
    """

    name: str
    nodes: tuple[str, ...]
    description: str
    tunable: bool = False


def _as_argument(name: str) -> str:
    return next(argument.description for argument in ARGUMENTS if argument.name == name)


PARAMETERS = (
    Parameter(name="robot", nodes=EVERY, description=_as_argument("robot")),
    Parameter(
        name="environment",
        nodes=JUDGING,
        description="what stands around the robot: a name in environments/ or a YAML file; empty for nothing",
    ),
    Parameter(name="scene", nodes=("sim_node",), description=_as_argument("scene") + "; at rest only", tunable=True),
    Parameter(name="family", nodes=("sim_node",), description=_as_argument("family") + "; at rest only", tunable=True),
    Parameter(
        name="jammed",
        nodes=("sim_node",),
        description="a joint that does not follow any more, to see what stops the robot; empty frees it",
        tunable=True,
    ),
    Parameter(name="simulator", nodes=("sim_node", "camera_node"), description=_as_argument("simulator")),
    Parameter(
        name="suite", nodes=("sim_node", "camera_node", "policy_node", RECORDER_NODE), description=_as_argument("suite")
    ),
    Parameter(name="gui", nodes=("sim_node",), description=_as_argument("gui")),
    Parameter(
        name="muted",
        nodes=("sim_node",),
        description="joint states are kept back while all else goes on, to see what stops the robot",
        tunable=True,
    ),
    Parameter(
        name="frozen",
        nodes=("sim_node",),
        description="joint states repeat the last one with new stamps, to see what stops the robot",
        tunable=True,
    ),
    Parameter(
        name="backend",
        nodes=EVERY,
        description="what is behind the graph; only sim and mock may have simulated time",
    ),
    Parameter(
        name="simulated_time",
        nodes=TIMEKEEPING,
        description="own /clock and wait for every node; false: the robot follows the wall clock",
    ),
    Parameter(name="speed", nodes=TIMEKEEPING, description=_as_argument("speed")),
    Parameter(
        name="inference_delay_ms",
        nodes=("policy_node",),
        description="what an inference takes in simulated time; negative: what the warm-up measured",
    ),
    Parameter(
        name="rest_when_done",
        nodes=("policy_node",),
        description="whether the robot rests once its task is done, by the policy's own estimate, until the next",
        tunable=True,
    ),
    Parameter(
        name="lag_s",
        nodes=("mock_node",),
        description="time constant [s] by which the mock robot's joints are behind their commands",
        tunable=True,
    ),
    Parameter(
        name="noise",
        nodes=("mock_node",),
        description="standard deviation of the mock robot's measured positions [rad or m]",
        tunable=True,
    ),
    Parameter(
        name="effort",
        nodes=("mock_node",),
        description="what each joint of the mock robot says it bears [N m or N]",
        tunable=True,
    ),
    Parameter(
        name="bundle",
        nodes=("policy_node", RECORDER_NODE),
        description="the policy: a bundle's folder or a server's file",
    ),
    Parameter(name="recordings", nodes=(RECORDER_NODE,), description=_as_argument("recordings")),
    Parameter(name="images", nodes=(RECORDER_NODE,), description=_as_argument("images")),
    Parameter(name="operator", nodes=(RECORDER_NODE,), description=_as_argument("operator")),
    Parameter(name="seed", nodes=(RECORDER_NODE,), description="of the simulated scene, for the metadata"),
    Parameter(name="at_once", nodes=(RECORDER_NODE,), description="whether the first episode begins with the node"),
    Parameter(name="standby", nodes=("policy_node",), description=_as_argument("standby")),
    Parameter(name="engine", nodes=("policy_node",), description=_as_argument("engine")),
    Parameter(name="instruction", nodes=("policy_node",), description=_as_argument("instruction")),
    Parameter(
        name="residual", nodes=("control_node", "policy_node", RECORDER_NODE), description=_as_argument("residual")
    ),
    Parameter(
        name=RESIDUAL_AUTHORITY,
        nodes=("control_node",),
        description="0 to 1: which part of the residual may act at most; 0 switches it off",
        tunable=True,
    ),
    Parameter(
        name="devices",
        nodes=(TELEOPERATING,),
        description="what leads the robot by hand, as `tendon teleop` takes it; a blank between two hands",
    ),
    Parameter(
        name="maps",
        nodes=(TELEOPERATING,),
        description="files of what the axes of these devices mean, in their order; a blank between two",
    ),
    Parameter(
        name=STEERED,
        nodes=("policy_node",),
        description="steers the policy in mid-motion; its bundle.yaml says the range",
        tunable=True,
    ),
)


def parameters_of(file: str, node: str, fixed: Iterable[str]) -> dict[str, Value]:
    """Returns the parameters that a file gives a node.

    Args:
        file: path of a file as `read_params_file` takes it; empty for none.
        node: which one.
        fixed: names of its parameters that come from the arguments of the graph.

    Raises:
        ConfigError: a section is of no node, a parameter is unknown there, is no number, or is one of the fixed ones.
    """
    sections = read_params_file(Path(file)) if file else {}
    arguments = [argument.name for argument in ARGUMENTS if argument.name != "params_file"]
    for section, values in sections.items():
        if section not in (ALL, *EVERY):
            raise ConfigError(f"params_file {file}: no node is called {section}{closest(section, (ALL, *EVERY))}")
        nodes = EVERY if section == ALL else (section,)
        here = [parameter.name for parameter in PARAMETERS if set(parameter.nodes) & set(nodes)]
        for name, value in values.items():
            parameter = find_parameter(name)
            if section == ALL and name in arguments:
                continue
            if parameter is None or not set(parameter.nodes) & set(nodes):
                among = (*arguments, *here) if section == ALL else here
                raise ConfigError(f"params_file {file}: {section} has no parameter {name}{closest(name, among)}")
            if name in fixed and section == node:
                raise ConfigError(f"params_file {file}: {section} gets {name} from the graph: say it under {ALL}")
            _typed(file, name, value)
    given = {
        name: value
        for section in (ALL, node)
        for name, value in sections.get(section, {}).items()
        if name not in fixed and (known := find_parameter(name)) is not None and node in known.nodes
    }
    return {name: _typed(file, name, value) for name, value in given.items()}


def _typed(file: str, name: str, value: Value) -> Value:
    """Returns a value with the type of its parameter; ROS reads 1e-6 as a number, which YAML 1.1 reads as text."""
    if not name.startswith(STEERED) and name not in REAL:
        return value
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise ConfigError(f"params_file {file}: {name} is {value!r}, must be a finite number")
    return number


def find_parameter(name: str) -> Parameter | None:
    """Returns the parameter of that name; every `steer.NAME` is one."""
    for parameter in PARAMETERS:
        if name == parameter.name or (parameter.name == STEERED and name.startswith(STEERED)):
            return parameter
    return None
